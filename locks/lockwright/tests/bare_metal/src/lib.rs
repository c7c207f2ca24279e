//! Locks of lockwright in a world without std or an operating system: the library of a program in
//! C, whose threads are the CPUs.

#![no_std]

mod platform;

use core::cell::UnsafeCell;
use core::mem::MaybeUninit;

use lockwright::exclusive::Exclusive;
use lockwright::mutex::RawMutex;
use lockwright::qspinlock::RawQspinlock;
use lockwright::rwsem::RawRwSem;
use lockwright::tas::RawTas;

use self::platform::Bare;

/// What a CPU adds under each lock.
const ROUNDS: u64 = 20_000;

/// Locks, and what they guard.
struct Kernel {
    tas: RawTas<Bare>,
    spinlock: RawQspinlock<Bare>,
    mutex: RawMutex<Bare>,
    rwsem: RawRwSem<Bare>,
    sums: [UnsafeCell<u64>; 4],
}

struct Static(UnsafeCell<MaybeUninit<Kernel>>);

// SAFETY: written by `boot` before there are other CPUs; the sums are under the locks.
unsafe impl Sync for Static {}

static KERNEL: Static = Static(UnsafeCell::new(MaybeUninit::uninit()));

/// Makes the locks.
///
/// # Safety
/// Called once, by the first CPU, before the others run.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn boot() {
    let kernel = Kernel {
        tas: RawTas::new_in(),
        spinlock: RawQspinlock::new_in(),
        mutex: RawMutex::new_in(),
        rwsem: RawRwSem::new_in(),
        sums: [const { UnsafeCell::new(0) }; 4],
    };
    // SAFETY: nobody else is here yet.
    unsafe { (*KERNEL.0.get()).write(kernel) };
}

/// # Safety
/// After [`boot`].
unsafe fn kernel() -> &'static Kernel {
    // SAFETY: by contract `boot` has written the kernel, and nobody writes it after that.
    unsafe { (*KERNEL.0.get()).assume_init_ref() }
}

fn add(lock: &impl Exclusive, sum: &UnsafeCell<u64>) {
    lock.lock();
    // SAFETY: under the lock, which is ours to release.
    unsafe {
        *sum.get() += 1;
        lock.unlock();
    }
}

/// What each CPU does.
///
/// # Safety
/// After [`boot`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn run_cpu() {
    // SAFETY: by this function's contract `boot` has run, as `kernel` demands.
    let Kernel { tas, spinlock, mutex, rwsem, sums } = unsafe { kernel() };
    for _ in 0..ROUNDS {
        add(tas, &sums[0]);
        spinlock.lock();
        // SAFETY: this CPU took `spinlock` above, under which alone the sum is accessed, and
        // releases it here.
        unsafe {
            *sums[1].get() += 1;
            spinlock.unlock();
        }
        add(mutex, &sums[2]);
        rwsem.down_write();
        // SAFETY: this CPU took `rwsem` to write above, under which alone the sum is accessed, and
        // releases it here.
        unsafe {
            *sums[3].get() += 1;
            rwsem.up_write();
        }
        rwsem.down_read();
        // SAFETY: this CPU took `rwsem` to read above; nobody writes meanwhile.
        unsafe {
            assert!(*sums[3].get() != 0);
            rwsem.up_read();
        }
    }
}

/// Whether `cpus` CPUs have added all that they should have.
///
/// # Safety
/// After all [`run_cpu`] have ended.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn is_right(cpus: u32) -> bool {
    // SAFETY: by contract `boot` has run and all CPUs have ended; nobody writes any more.
    unsafe { kernel().sums.iter().all(|sum| *sum.get() == u64::from(cpus) * ROUNDS) }
}

unsafe extern "C" {
    safe fn halt() -> !;
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    halt()
}
