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
        fn yield_now() {
            Linux::yield_now();
        }
    };
}
pub(crate) use as_linux;
