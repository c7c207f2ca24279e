//! What slices and tracks are called.

use crate::lockmeter::text::waits::named;
use crate::prose::futexes;
use crate::prose::words::plain;
use lockwright_analysis::finding::Frame;
use lockwright_analysis::lockmeter::model::{At, MeterReport, Wait, WaitKind};
use lockwright_analysis::lockmeter::timeline::{Lock, Slice, SliceKind, Thread};
use lockwright_analysis::symbolize::wrapper::own_frames;

/// The names of one report's things.
#[derive(Clone, Copy)]
pub struct Words<'r>(pub &'r MeterReport);

impl<'r> Words<'r> {
    /// A lock of a class: by its name, and by its address where there are several.
    pub fn lock_of(self, class: usize, addr: u64) -> String {
        let Some(lock) = self.0.locks.get(class) else { return "a lock".to_owned() };
        let name = plain(&lock.name);
        if lock.locks > 1 && addr != 0 { format!("{name} at {addr:#x}") } else { name }
    }

    /// A lock that has a track.
    pub fn lock(self, lock: &Lock) -> String {
        self.lock_of(lock.class, lock.addr)
    }

    /// What is waited for, or held.
    pub fn what(self, slice: &Slice) -> String {
        match slice.at {
            At::Lock { lock, .. } => self.lock_of(lock, slice.addr),
            At::Wait(wait) => {
                self.0.waits.get(wait).map_or_else(|| "something".to_owned(), wait_for)
            }
            At::Unknown => "something".to_owned(),
        }
    }

    /// A slice of a thread. Perfetto's plugin for lock contention knows waits for locks by this name.
    pub fn slice(self, slice: &Slice) -> String {
        let what = self.what(slice);
        match slice.kind {
            SliceKind::Hold => format!("holds {what}"),
            SliceKind::Wait if !slice.is_lock_wait() => format!("waits for {what}"),
            SliceKind::Wait => match slice.holder {
                Some(holder) => format!("Lock contention on {what} (owner tid: {})", holder.tid),
                None => format!("Lock contention on {what}"),
            },
        }
    }

    /// The stack of a place, without frames of wrappers.
    pub fn stack(self, at: At) -> &'r [Frame] {
        match at {
            At::Lock { lock, site } => self.0.site(lock, site).map(|site| &*site.stack),
            At::Wait(wait) => self.0.waits.get(wait).map(|wait| &*wait.stack),
            At::Unknown => None,
        }
        .map_or(&[], own_frames)
    }

    /// The executable of a thread's process, without its folders.
    pub fn process(self, index: usize) -> String {
        let exe = self.0.processes.get(index).map_or("", |process| process.exe.as_str());
        plain(crate::prose::words::base_name(exe))
    }
}

/// A thread's name, as far as it has one: the first is `main`.
pub fn thread(thread: &Thread) -> String {
    match &thread.name {
        Some(name) => plain(name),
        None if thread.tid == thread.pid => "main".to_owned(),
        None => "thread".to_owned(),
    }
}

/// A thread's name and id.
pub fn who(thread: &Thread) -> String {
    format!("{} ({})", self::thread(thread), thread.tid)
}

/// What is waited for that is no lock.
pub fn wait_for(wait: &Wait) -> String {
    let what = match (wait.kind, wait.call) {
        (WaitKind::Condition, _) => "a condition",
        (WaitKind::Semaphore, _) => "a semaphore",
        (WaitKind::Barrier, _) => "a barrier",
        (WaitKind::Join, _) => "the end of a thread",
        (WaitKind::Once, _) => "a routine that runs once",
        (WaitKind::Call, Some(call)) => return call.to_owned(),
        (WaitKind::Call, None) => "a sleeping call",
        (WaitKind::Futex, _) => {
            &wait.futex.as_ref().map_or_else(|| "a futex".to_owned(), futexes::head)
        }
        (WaitKind::Other, _) => "something",
    };
    // As in a sentence, where the article may stand first.
    named(&format!(" {what}"), wait).trim_start().to_owned()
}
