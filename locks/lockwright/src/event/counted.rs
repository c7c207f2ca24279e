//! A platform whose locks count.

use core::marker::PhantomData;
use core::sync::atomic::Ordering;

use super::Event;
use crate::platform::{PerCpu, PerTask, Platform, Task};

/// The platform `P`, with lock events counted. Events of threads without a number are not.
#[derive(Debug)]
pub struct Counted<P>(PhantomData<P>);

impl<P: Platform> Platform for Counted<P> {
    type Word = P::Word;
    type Long = P::Long;

    const SPIN_THRESHOLD: u32 = P::SPIN_THRESHOLD;
    const PENDING_LOOPS: u32 = P::PENDING_LOOPS;
    const COUNTS: bool = true;

    #[inline(always)]
    fn relax() {
        P::relax();
    }
    #[inline(always)]
    fn relax_rounds(most: u32) -> u32 {
        P::relax_rounds(most)
    }
    #[inline(always)]
    fn fence(order: Ordering) {
        P::fence(order);
    }
    #[inline(always)]
    fn light_barrier() {
        P::light_barrier();
    }
    fn heavy_barrier() {
        P::heavy_barrier();
    }
    #[inline(always)]
    fn cpu() -> Option<u32> {
        P::cpu()
    }
    fn cpus() -> u32 {
        P::cpus()
    }
    #[inline]
    fn raw_lock(word: &P::Word) -> u32 {
        P::raw_lock(word)
    }
    /// # Safety
    /// The contract is that of `Platform::raw_unlock`.
    #[inline]
    unsafe fn raw_unlock(word: *const P::Word, key: u32) {
        // SAFETY: the caller fulfils the contract, which is the same.
        unsafe { P::raw_unlock(word, key) }
    }
    #[inline]
    fn per_cpu(cpu: u32) -> &'static PerCpu<P::Word, P::Long> {
        P::per_cpu(cpu)
    }
    #[inline(always)]
    fn current() -> Task {
        P::current()
    }
    fn per_task(task: Task) -> Option<&'static PerTask<P::Word, P::Long>> {
        P::per_task(task)
    }
    fn is_running(task: Task) -> bool {
        P::is_running(task)
    }
    #[inline]
    fn need_resched(rounds: u32) -> bool {
        P::need_resched(rounds)
    }
    #[inline]
    fn patience() -> u32 {
        P::patience()
    }
    fn yield_now() {
        P::yield_now();
    }
    fn now() -> u64 {
        P::now()
    }
    fn in_interrupt() -> bool {
        P::in_interrupt()
    }
    fn priority() -> i32 {
        P::priority()
    }
    fn set_priority(task: Task, inherited: Option<i32>) {
        P::set_priority(task, inherited);
    }
    #[inline]
    fn count(event: Event, n: usize) {
        if let Some(cpu) = P::cpu() {
            P::per_cpu(cpu).counts.add(event, n);
        }
    }
}
