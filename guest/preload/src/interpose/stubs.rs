//! The code of the stubs that interpose functions, by the kind of the row in the table. A
//! stub is not a frame, so stacks begin with the program's. Its instructions are the machine's ([`crate::arch`]).

/// A function of assembly that the program finds by its name.
macro_rules! exported {
    ($name:ident, $($code:tt)*) => {
        #[doc = concat!("`", stringify!($name), "`: the C library's, or an annotation.")]
        /// # Safety
        /// As the function itself.
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name() -> core::ffi::c_int {
            code!($($code)*)
        }
    };
}

/// The stub of one row.
macro_rules! stub {
    // Always to one wrapper.
    (call $name:ident $arity:tt ($pass:ident, $to:path)) => {
        exported! { $name, pass $pass $arity, to = sym $to }
    };

    // To lockdep's, lockmeter's, or the wrapper for both, as chosen at start: so neither engine has
    // a test for the other on its fast path.
    (engines $name:ident $arity:tt ($pass:ident, $lockdep:path, $lockmeter:path, $both:path)) => {
        stub! { chosen $name $arity $pass }
    };
    // As `engines`, to a wrapper that is generic over the engine.
    (engine $name:ident $arity:tt ($pass:ident, $($to:ident)::+)) => {
        stub! { chosen $name $arity $pass }
    };
    // What may sleep: lockmeter counts it, and lockdep looks at it once there is a spinning lock.
    // Else the call is forwarded.
    (blocking $name:ident $arity:tt ()) => {
        stub! { chosen $name $arity site }
    };
    // As `blocking`, but lockdep always looks at it: here threads idle.
    (idling $name:ident $arity:tt ()) => {
        stub! { chosen $name $arity site }
    };
    (chosen $name:ident $arity:tt $pass:ident) => {
        exported! { $name, pass_on $pass $arity, to = sym target::$name }
    };

    // Forwarded unless the condition variable's bytes are such as none has that may be used, or
    // signals matter, with lockdep there to see them. Which bytes the C library's version says.
    (signals $name:ident 1 ($to:path)) => {
        exported! {
            $name,
            signals,
            wrefs = sym COND_WREFS, impossible = const COND_IMPOSSIBLE as i32,
            matter = sym SIGNALS_MATTER, to = sym $to, next = sym slot::$name
        }
    };

    // Forwarded once the routine has run, unless routines have taken locks.
    (once $name:ident 2 ($next:ident)) => {
        exported! {
            $name,
            once,
            done = const ONCE_DONE as i32, run = sym once::$next, next = sym slot::$next,
            matter = sym lockdep::once::HAVE_RUN, done_call = sym once::done::$next
        }
    };

    // Forwarded unless the child has a memory of its own.
    (clones $name:ident 7 ()) => {
        exported! {
            $name,
            clones,
            shares = const bare_fork::SHARES, process = sym bare_fork::clone, next = sym slot::clone
        }
    };

    // To a function that decides, by the further arguments, whether to go to a wrapper; else
    // forwarded with the return address as it is, which the C library looks at.
    (loads $name:ident 2 ($prepare:path, $to:path)) => {
        exported! {
            $name,
            loads,
            prepare = sym $prepare, to = sym $to, next = sym slot::$name
        }
    };

    // Any number of arguments after the first: the wrapper gets where they are in a row, those that
    // came in registers before those on the stack.
    (variadic $name:ident 1 ($to:path)) => {
        exported! {
            $name,
            variadic,
            to = sym $to
        }
    };

    // Its first argument is an attribute of this type, to which it does that; up to two follow.
    (attribute $name:ident $arity:tt ($kind:ident, $does:ident)) => {
        #[doc = concat!("Stands in front of the C library's `", stringify!($name), "`.")]
        /// # Safety
        /// As the function itself.
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $name(
            a: *mut core::ffi::c_void,
            x: usize,
            y: usize,
        ) -> core::ffi::c_int {
            // SAFETY: the program's own arguments go on unchanged; the function does not look at
            // those that it has not.
            attribute_calls::$does(&types::$kind, a as u64, || unsafe { real::$name(a, x, y) })
        }
    };

    // What a signal handler must not call: to where `signal_unsafe.rs` says.
    (guarded $name:ident) => {
        exported! {
            $name,
            go_by_table,
            targets = sym signal_unsafe::TARGETS,
            slot = const Guarded::$name as usize * 8
        }
    };

    // The whole function is written elsewhere.
    (whole $name:ident $arity:tt ($to:path)) => {
        const _: *const () = $to as *const ();
    };
}

/// Where a stub goes whose wrapper is chosen at start: the variable of one row.
macro_rules! target {
    (engines $name:ident ($pass:ident, $lockdep:path, $lockmeter:path, $both:path)) => {
        target! { variable $name ($lockdep) }
    };
    (engine $name:ident ($pass:ident, $($to:ident)::+)) => {
        target! { variable $name ($($to)::+::<Lockdep>) }
    };
    (blocking $name:ident ()) => {
        target! { variable $name (blocking::$name) }
    };
    (idling $name:ident ()) => {
        target! { variable $name (blocking::$name) }
    };
    (variable $name:ident ($first:path)) => {
        #[allow(non_upper_case_globals, reason = "named as the function is")]
        pub static $name: AtomicPtr<()> = AtomicPtr::new($first as *mut ());
    };
    ($other:ident $name:ident ($($to:tt)*)) => {};
}

/// Has the stub of one row go to lockmeter's wrapper, or to that for both engines.
macro_rules! choose {
    ($is_both:ident engines $name:ident ($pass:ident, $lockdep:path, $lockmeter:path, $both:path)) => {
        target::$name
            .store(if $is_both { $both as *mut () } else { $lockmeter as *mut () }, Relaxed);
    };
    ($is_both:ident engine $name:ident ($pass:ident, $($to:ident)::+)) => {
        choose! { $is_both engines $name ($pass, $($to)::+::<Lockdep>, $($to)::+::<Lockmeter>, $($to)::+::<Both>) }
    };
    ($is_both:ident $other:ident $name:ident ($($to:tt)*)) => {};
}

/// Has the stub of one row forward, if it is of a call that only lockmeter counts.
macro_rules! forward_blocking {
    (blocking $name:ident) => {
        target::$name.store(slot::$name.load(Relaxed).cast(), Relaxed);
    };
    (idling $name:ident) => {
        forward_blocking! { blocking $name }
    };
    ($other:ident $name:ident) => {};
}

/// Has the stub of one row go to lockdep's wrapper of a call that threads idle in, if it is of one.
macro_rules! watch_idling {
    (idling $name:ident) => {
        target::$name.store(may_sleep::$name as *mut (), Relaxed);
    };
    ($other:ident $name:ident) => {};
}

/// Has the stub of one row go to lockdep's wrapper of a call that may sleep, if it is of one.
macro_rules! watch_sleeping {
    (blocking $name:ident) => {
        target::$name.store(may_sleep::$name as *mut (), Relaxed);
    };
    ($other:ident $name:ident) => {};
}

/// Where the stub of one row goes now, if it has no other to ask.
macro_rules! destination {
    (engine $name:ident ($($to:tt)*)) => {
        target::$name.load(Relaxed)
    };
    (engines $name:ident ($($to:tt)*)) => {
        target::$name.load(Relaxed)
    };
    (call $name:ident ($pass:ident, $to:path)) => {
        $to as *mut ()
    };
}

/// The stub of one row, for the C library's internal name of the function; see `internal_names.rs`.
macro_rules! internal_stub {
    (engines $internal:ident $arity:tt ($pass:ident, $($to:path),*)) => {
        stub! { chosen $internal $arity $pass }
    };
    (engine $internal:ident $arity:tt ($pass:ident, $($to:ident)::+)) => {
        stub! { chosen $internal $arity $pass }
    };
    (call $internal:ident $arity:tt ($pass:ident, $to:path)) => {
        stub! { chosen $internal $arity $pass }
    };
}

/// The interposition table: `name(arity) = aliases ~ internal name: kind(what the kind needs);`.
/// Arguments beyond what a stub looks at need not be counted.
macro_rules! interpose {
    (
        $($name:ident($arity:tt) $(= $alias:ident)* $(~ $internal:ident)?: $kind:ident $to:tt;)*
    ) => {
        $(
            stub! { $kind $name $arity $to }
            $(stub! { $kind $alias $arity $to })*
            $(internal_stub! { $kind $internal $arity $to })?
        )*

        /// Where the stubs go whose wrappers are chosen at start.
        pub mod target {
            use super::*;
            $(
                target! { $kind $name $to }
                $(target! { variable $internal (first::$internal) })?
            )*
        }

        /// Where the stubs of internal names go at first: decides where all of them go, and has the
        /// call begin again.
        mod first {
            use super::*;
            $($(
                /// # Safety
                /// Called by the program as the function of this name, with arguments that keep its
                /// contract.
                #[unsafe(naked)]
                pub unsafe extern "C" fn $internal() {
                    code!(follows, follow = sym follow, to = sym target::$internal)
                }
            )?)*
        }

        /// Makes the stubs go to lockmeter's wrappers, with lockdep's or alone. Called at start,
        /// before any thread, and before the stubs of internal names follow.
        pub fn choose(is_both: bool) {
            $(choose! { is_both $kind $name $to })*
        }

        /// Has the stubs forward that only lockmeter asks for. Called at start, before any thread.
        pub fn forward_blocking() {
            $(forward_blocking! { $kind $name })*
        }

        /// Has the stubs of calls that threads idle in go to lockdep. Called at start, before any
        /// thread.
        pub fn watch_idling() {
            $(watch_idling! { $kind $name })*
        }

        /// Has the stubs of calls that may sleep go to lockdep. Called when there is a spinning
        /// lock to be held meanwhile; calls under way have gone by.
        pub fn watch_sleeping() {
            $(watch_sleeping! { $kind $name })*
        }

        /// Decides where the stubs of internal names go. Called at the first call of one, and whenever
        /// the stubs of functions have been sent elsewhere.
        pub extern "C" fn follow() {
            internal_names::follow(for_internal);
        }

        /// Calls `f` for each internal name: with the function's name, the internal one, where the
        /// stub of the function goes, and the variable of where that of the internal name goes.
        fn for_internal(f: &dyn Fn(&CStr, &CStr, *mut (), &AtomicPtr<()>)) {
            $($(f(
                literal(concat!(stringify!($name), "\0")),
                literal(concat!(stringify!($internal), "\0")),
                destination! { $kind $name $to },
                &target::$internal,
            );)?)*
        }
    };
}

/// The stubs of the list in `signals/guarded.rs`.
macro_rules! guarded_stubs {
    ($($name:ident: $group:expr;)*) => {
        $(stub! { guarded $name })*
    };
}
