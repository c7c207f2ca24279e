//! Lock events: what the slow paths of locks do, counted per thread under the kernel's names
//! (`kernel/locking/lock_events_list.h`; read there under `/sys/kernel/debug/lock_event_counts`).
//!
//! A lock over [`Counted<P>`] counts; over `P` alone it has no code for it at all. With the feature
//! `lock_events` all locks on Linux count, and a program with `LOCKWRIGHT_EVENTS=FILE` in its
//! environment writes the table to FILE at its exit.
//!
//! Three sorts of the kernel's events cannot occur here. `rtlock_*` are of sleeping spinlocks
//! (PREEMPT_RT). `rtmutex_slow_wake` counts wake-ups on the way to an rtmutex, and there are none.
//! `lockdep_*` are lockdep's.

#[cfg(feature = "lock_events")]
mod at_exit;
mod counted;
mod counts;
mod list;

use core::fmt;
use core::sync::atomic::Ordering::Relaxed;

pub use counted::Counted;
pub(crate) use counts::Counts;
pub use list::Event;

use crate::platform::Atomic as _;
use crate::platform::Platform;

/// Counts, summed over all CPUs. Shown, it is a table: a line for each event, as the kernel's
/// files of `lock_event_counts` have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Events([usize; Event::ALL.len()]);

impl Events {
    /// The counts since a platform's start. Threads go on counting meanwhile.
    pub fn of<P: Platform>() -> Self {
        // Relaxed: as in `Counts::add`.
        let sum = |index: usize| {
            (0..P::cpus()).map(|cpu| P::per_cpu(cpu).counts.0[index].load(Relaxed)).sum()
        };
        Self(core::array::from_fn(sum))
    }

    /// Lets counting begin at 0 again. Counts of other threads during the call may stay, or get
    /// lost.
    pub fn reset<P: Platform>() {
        for cpu in 0..P::cpus() {
            // Relaxed: as in `Counts::add`.
            P::per_cpu(cpu).counts.0.iter().for_each(|count| count.store(0, Relaxed));
        }
    }

    /// The count of an event.
    pub fn get(&self, event: Event) -> usize {
        self.0[event as usize]
    }

    /// An event as the kernel shows it: its count, or the average that is of interest.
    pub fn shown(&self, event: Event) -> Shown {
        let count = self.get(event);
        let Some((per, digits)) = event.average() else {
            return Shown { whole: count, rest: 0, digits: 0 };
        };
        // None of those has happened: nor has this, worth a word.
        let times = self.get(per).max(1);
        let count = if self.get(per) == 0 { 0 } else { count };
        let rest = count % times * 10usize.pow(digits as u32) / times;
        Shown { whole: count / times, rest, digits }
    }

    /// Both together.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        Self(core::array::from_fn(|index| self.0[index].wrapping_add(other.0[index])))
    }

    /// The counts since `earlier` was taken.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self(core::array::from_fn(|index| self.0[index].wrapping_sub(earlier.0[index])))
    }
}

impl fmt::Display for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Event::ALL
            .iter()
            .try_for_each(|event| writeln!(f, "{:<22} {:>12}", event.name(), self.shown(*event)))
    }
}

/// The shown value of an event: its count, or its average, cut off as the kernel does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shown {
    whole: usize,
    /// Digits after the point, and how many.
    rest: usize,
    digits: usize,
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { whole, rest, digits } = *self;
        if digits == 0 {
            return fmt::Display::fmt(&whole, f);
        }
        let width = f.width().unwrap_or(0).saturating_sub(digits + 1);
        write!(f, "{whole:width$}.{rest:0digits$}")
    }
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use std::string::ToString;

    use super::*;
    use crate::platform::linux::Linux;

    #[test]
    fn events_are_counted_by_counting_platforms_only_and_shown_by_name() {
        let before = Events::of::<Linux>();
        Linux::count(Event::LockNoNode, 3);
        let by_linux = if cfg!(feature = "lock_events") { 3 } else { 0 };
        assert_eq!(Events::of::<Linux>().since(&before).get(Event::LockNoNode), by_linux);
        let before = Events::of::<Linux>();
        Counted::<Linux>::count(Event::LockNoNode, 3);
        let counted = Events::of::<Linux>().since(&before);
        assert_eq!(counted.get(Event::LockNoNode), 3);
        let text = counted.to_string();
        assert!(text.contains("lock_no_node                      3\n"), "{text}");
        assert_eq!(text.lines().count(), Event::ALL.len());
    }

    #[test]
    fn averages_are_of_what_the_kernel_divides_by() {
        let mut events = Events([0; Event::ALL.len()]);
        let mut set = |event: Event, count| events.0[event as usize] = count;
        set(Event::PvHashHops, 7);
        set(Event::PvKickUnlock, 6);
        set(Event::PvLatencyKick, 11);
        set(Event::PvLatencyWake, 100);
        let shown = |event| std::format!("{:>6}", events.shown(event));
        assert_eq!(shown(Event::PvHashHops), "  1.16");
        assert_eq!(shown(Event::PvLatencyKick), "     1");
        assert_eq!(shown(Event::PvLatencyWake), "     0", "nobody was woken");
        assert_eq!(shown(Event::PvKickUnlock), "     6");
    }
}
