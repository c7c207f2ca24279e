//! Programs run under the tool as they run alone, whatever they do.

pub mod address_space;
pub mod all_keys;
pub mod allocators;
pub mod children;
pub mod damaged;
pub mod file_sizes;
pub mod follow;
pub mod kill9;
pub mod layouts;
pub mod many;
pub mod other_users;
pub mod passthrough;
pub mod processes;
pub mod sandboxes;
pub mod seccomp;
pub mod signals;
pub mod soak;
pub mod stack_use;
pub mod unwatched;
