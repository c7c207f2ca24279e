//! Objects begin, are used and end.

pub mod attribute_calls;
pub mod attributes;
pub mod early_objects;
pub mod frame_list;
pub mod frames;
pub mod freed_memory;
pub mod init_destroy;
pub mod lifetime;
pub mod object_pages;
pub mod uses;
