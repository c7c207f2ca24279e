//! Libraries that are loaded and unloaded.

pub mod dl_iterate_phdr;
pub mod dlclose;
pub mod dlopen;
