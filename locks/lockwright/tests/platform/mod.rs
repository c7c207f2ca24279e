//! Platforms of tests: Linux, except for what the test controls.

/// What such a platform has as Linux has it, within its `impl Platform`. Missing: when to
/// reschedule, and the clock.
macro_rules! as_linux {
    () => {
        type Word = std::sync::atomic::AtomicU32;
        type Long = std::sync::atomic::AtomicUsize;

        fn relax() {
            Linux::relax();
        }
        fn fence(order: std::sync::atomic::Ordering) {
            Linux::fence(order);
        }
        fn cpu() -> Option<u32> {
            Linux::cpu()
        }
        fn cpus() -> u32 {
            Linux::cpus()
        }
        fn per_cpu(cpu: u32) -> &'static lockwright::platform::PerCpu<Self::Word, Self::Long> {
            Linux::per_cpu(cpu)
        }
        fn current() -> lockwright::platform::Task {
            Linux::current()
        }
        fn per_task(
            task: lockwright::platform::Task,
        ) -> Option<&'static lockwright::platform::PerTask<Self::Word, Self::Long>> {
            Linux::per_task(task)
        }
        fn is_running(task: lockwright::platform::Task) -> bool {
            Linux::is_running(task)
        }
        fn raw_lock(word: &Self::Word) -> u32 {
            Linux::raw_lock(word)
        }
        unsafe fn raw_unlock(word: *const Self::Word, key: u32) {
            // SAFETY: the caller fulfils the contract, which is the same.
            unsafe { Linux::raw_unlock(word, key) }
        }
        fn yield_now() {
            Linux::yield_now();
        }
    };
}
pub(crate) use as_linux;
