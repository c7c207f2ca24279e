//! Sentences about what threads do.

use crate::prose::words::plain;
use crate::text::stack::is_runtime;
use lockwright_analysis::arch;
use lockwright_analysis::attached::{Holder, Thread, Wait, WaitKind};
use lockwright_analysis::finding::Frame;
use lockwright_analysis::symbolize::is_runtime as is_runtime_module;

/// System calls that threads sleep in, by their numbers.
const CALLS: &[(i64, &str)] = &[
    (libc::SYS_read, "read"),
    (libc::SYS_write, "write"),
    (libc::SYS_readv, "readv"),
    (libc::SYS_writev, "writev"),
    (arch::SYS_poll, "poll"),
    (libc::SYS_ppoll, "ppoll"),
    (arch::SYS_select, "select"),
    (libc::SYS_pselect6, "pselect6"),
    (arch::SYS_epoll_wait, "epoll_wait"),
    (libc::SYS_epoll_pwait, "epoll_pwait"),
    (libc::SYS_epoll_pwait2, "epoll_pwait2"),
    (libc::SYS_nanosleep, "nanosleep"),
    (libc::SYS_clock_nanosleep, "clock_nanosleep"),
    (arch::SYS_pause, "pause"),
    (libc::SYS_accept, "accept"),
    (libc::SYS_accept4, "accept4"),
    (libc::SYS_connect, "connect"),
    (libc::SYS_recvfrom, "recvfrom"),
    (libc::SYS_recvmsg, "recvmsg"),
    (libc::SYS_sendto, "sendto"),
    (libc::SYS_sendmsg, "sendmsg"),
    (libc::SYS_wait4, "wait4"),
    (libc::SYS_waitid, "waitid"),
    (arch::SYS_vfork, "vfork"),
    (libc::SYS_fsync, "fsync"),
    (libc::SYS_fdatasync, "fdatasync"),
    (libc::SYS_flock, "flock"),
    (libc::SYS_fcntl, "fcntl"),
    (libc::SYS_msgrcv, "msgrcv"),
    (libc::SYS_semop, "semop"),
    (libc::SYS_rt_sigtimedwait, "rt_sigtimedwait"),
    (libc::SYS_rt_sigsuspend, "rt_sigsuspend"),
    (libc::SYS_restart_syscall, "restart_syscall"),
    (libc::SYS_io_getevents, "io_getevents"),
    (libc::SYS_io_uring_enter, "io_uring_enter"),
    (libc::SYS_futex, "futex"),
    (libc::SYS_futex_waitv, "futex_waitv"),
];

/// The name of a system call.
pub fn call(number: i64) -> String {
    match CALLS.iter().find(|(call, _)| *call == number) {
        Some((_, name)) => format!("`{name}`"),
        None if number < 0 => "a system call".to_owned(),
        None => format!("system call {number}"),
    }
}

/// `thread 42 (worker)`.
pub fn thread(thread: &Thread) -> String {
    match plain(&thread.name) {
        name if name.is_empty() => format!("thread {}", thread.tid),
        name => format!("thread {} ({name})", thread.tid),
    }
}

/// `the mutex `a``, `the end of thread 42`, `a condition`.
pub fn object(wait: &Wait) -> String {
    let named = |what: &str| match &wait.name {
        Some(name) => format!("the {what} `{}`", plain(&name.text)),
        None => format!("the {what} at {:#x}", wait.object),
    };
    match wait.kind {
        WaitKind::Mutex => named("mutex"),
        WaitKind::RwlockRead => format!("{}, to read", named("rwlock")),
        WaitKind::RwlockWrite => format!("{}, to write", named("rwlock")),
        WaitKind::Join => match wait.holder {
            Holder::Thread(tid) | Holder::Ended(tid) => format!("the end of thread {tid}"),
            _ => "the end of a thread".to_owned(),
        },
        WaitKind::Lock(what) => named(what),
        WaitKind::Event(what) => what.to_owned(),
        WaitKind::Idle(language) => format!("work, as a thread of {language}'s runtime"),
        WaitKind::Unknown => named("futex"),
    }
}

/// `the mutex `queue``, or what is waited for that is no lock.
pub fn waited_for(kind: WaitKind, name: Option<String>, address: u64) -> String {
    match (kind_of(kind), name) {
        (Some(what), Some(name)) => format!("the {what} `{name}`"),
        (Some(what), None) => format!("the {what} at {address:#x}"),
        (None, _) => match kind {
            WaitKind::Event(what) => what.to_owned(),
            WaitKind::Idle(language) => format!("work, as a thread of {language}'s runtime"),
            _ => "the end of a thread".to_owned(),
        },
    }
}

/// The holder of the lock that a thread waits for, to stand after a comma; empty if it is no lock.
pub fn holder(wait: &Wait) -> String {
    match wait.holder {
        Holder::Thread(_) | Holder::Ended(_) if wait.kind == WaitKind::Join => String::new(),
        Holder::Thread(tid) => format!("held by thread {tid}"),
        Holder::Ended(tid) => format!("held by thread {tid}, which has ended"),
        Holder::Elsewhere(tid) => format!("held by thread {tid} of another process"),
        Holder::Readers(1) => "held by 1 reader that it does not name".to_owned(),
        Holder::Readers(readers) => format!("held by {readers} readers that it does not name"),
        Holder::Nobody => "which is changing hands".to_owned(),
        Holder::NotRecorded => "whose words do not tell who holds it".to_owned(),
        Holder::NoLock => String::new(),
    }
}

/// The name for locks of a kind; nothing for what is no lock.
pub fn kind_of(kind: WaitKind) -> Option<&'static str> {
    match kind {
        WaitKind::Mutex => Some("mutex"),
        WaitKind::RwlockRead | WaitKind::RwlockWrite => Some("rwlock"),
        WaitKind::Lock(what) => Some(what),
        WaitKind::Unknown => Some("futex"),
        WaitKind::Join | WaitKind::Event(_) | WaitKind::Idle(_) => None,
    }
}

/// The name of a kind for machines.
pub fn kind_name(kind: WaitKind) -> &'static str {
    match kind {
        WaitKind::Mutex => "mutex",
        WaitKind::RwlockRead => "rwlock-read",
        WaitKind::RwlockWrite => "rwlock-write",
        WaitKind::Join => "join",
        WaitKind::Lock(_) => "lock",
        WaitKind::Event(_) => "event",
        WaitKind::Idle(_) => "idle",
        WaitKind::Unknown => "unknown",
    }
}

/// The stack from the first function of the program's own on: what libraries do on the way to the
/// call tells what the line above does.
pub fn trimmed(stack: &[Frame]) -> &[Frame] {
    let is_foreign = |frame: &Frame| frame.module.as_deref().is_none_or(is_runtime_module);
    let first =
        |is_skipped: &dyn Fn(&Frame) -> bool| stack.iter().position(|frame| !is_skipped(frame));
    let own = first(&|frame| is_foreign(frame) || is_runtime(frame));
    let own = own.or_else(|| first(&is_foreign)).unwrap_or(0);
    stack.get(own..).unwrap_or_default()
}
