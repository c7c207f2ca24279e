//! Locks that are known by their address and lay on a stack which another thread has now: the C library gives stacks of threads
//! that have ended to new ones. What lies there next is another lock.

use super::lock_pages::{PAGE, is_page_noted};
use super::unstamped;
use crate::arch::stack_pointer;
use crate::stack::modules::mapping_of;
use crate::stack::stack_bounds::descriptor;

/// Pages at the end of a stack that are looked at: those of a thread's outermost functions.
const PAGES: u64 = 32;

/// The calling thread has just begun. Costs next to nothing where no lock was ever seen on such a page.
pub fn begins() {
    let (top, now) = (descriptor(), stack_pointer());
    // The main thread's descriptor is elsewhere. Other threads' are at the end of their stacks.
    let is_on_it = now < top && top - now < PAGES * PAGE;
    if !is_on_it || !(0..PAGES).any(|page| is_page_noted(top - page * PAGE)) {
        return;
    }
    if let Some(mapping) = mapping_of(now) {
        unstamped::forget_range(mapping.start, top);
    }
}
