//! 64-bit Arm.

/// No system call has this number.
const NO_CALL: i64 = i64::MIN;

/// The call of x86-64 is made of another one here.
macro_rules! none {
    ($($name:ident)*) => { $(
        #[doc = concat!("None: there is no `", stringify!($name), "`.")]
        pub const $name: i64 = NO_CALL;
    )* };
}

none! { SYS_epoll_wait SYS_pause SYS_poll SYS_select SYS_vfork }

/// The structures of running threads are not known, nor how to unwind their stacks.
pub const KNOWS_THREADS: bool = false;
