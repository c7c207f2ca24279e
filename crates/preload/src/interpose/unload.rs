//! What is unloaded: it is no module any more, and there are no objects in it.

use core::ffi::{c_int, c_void};

use lockwright_ledger::rows::object::object_end;

use crate::callsite::Return;
use crate::debugobjects::{gone, program};
use crate::libc::real;
use crate::lock_id::pages::may_have_objects;
use crate::lockdep::loader;
use crate::recorder::state;
use crate::stack::modules;

pub unsafe extern "C-unwind" fn dlclose(handle: *mut c_void, site: u64, back: Return) -> c_int {
    // Stacks of what is about to go must be resolved against the list as it is.
    state::with_core(modules::rescan);
    // SAFETY: the program's call, which the stub came from.
    let enters = unsafe { loader::enter(&loader::LOADER, site, back) };
    // SAFETY: forwarded.
    let result = unsafe { real::dlclose(handle) };
    if enters {
        loader::leave(&loader::LOADER);
    }
    // As many as are unloaded at once, with what they alone needed.
    let mut gone = [(0, 0); 16];
    state::with_core(|core| {
        let mut free = gone.iter_mut();
        modules::rescan_seeing(core, &mut |from, to| {
            if let Some(free) = free.next() {
                *free = (from, to);
            }
        });
    });
    program::unloaded();
    for (from, to) in gone.into_iter().filter(|&(from, to)| from < to && may_have_objects(from, to))
    {
        gone::check(from, to, object_end::UNLOADED, None);
    }
    result
}
