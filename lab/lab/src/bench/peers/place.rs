//! Where locks lie, and what each protects: apart, so that no two of these share a cache line.

use std::alloc::{self, Layout};
use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::super::workers::{APART, Padded};
use super::functions::Functions;

/// The alignment of locks.
pub const ALIGN: usize = APART;

/// What a thread keeps between taking a lock and releasing it.
#[repr(align(128))]
pub struct Own(MaybeUninit<[u8; Self::SIZE]>);

impl Own {
    const SIZE: usize = 256;

    /// With nothing in it.
    pub fn new() -> Self {
        Self(MaybeUninit::uninit())
    }

    /// As the functions of locks have it.
    pub fn pointer(&mut self) -> *mut c_void {
        self.0.as_mut_ptr().cast()
    }

    /// Whether it has room for a `T`.
    pub const fn holds<T>() -> bool {
        size_of::<T>() <= Self::SIZE && align_of::<T>() <= align_of::<Self>()
    }
}

/// A lock, and two numbers that it protects: the same whenever nobody writes.
pub struct Slot {
    lock: NonNull<c_void>,
    layout: Layout,
    functions: Functions,
    twins: Padded<[AtomicU64; 2]>,
}

// SAFETY: locks are for threads to share, and so are atomic numbers.
unsafe impl Sync for Slot {}

impl Slot {
    /// With a lock by these functions.
    pub fn new(functions: &Functions) -> Self {
        // Whole stretches, so that nothing else shares a cache line with the lock.
        let size = functions.size.max(1).next_multiple_of(ALIGN);
        let layout = Layout::from_size_align(size, ALIGN).expect("the size of a lock");
        // SAFETY: the layout's size is not 0, as `size` is at least `ALIGN`.
        let memory = unsafe { alloc::alloc_zeroed(layout) };
        let Some(lock) = NonNull::new(memory.cast()) else { alloc::handle_alloc_error(layout) };
        // SAFETY: memory as large as this lock needs, until it is destroyed.
        unsafe { (functions.make)(lock.as_ptr()) };
        let twins = Padded([AtomicU64::new(0), AtomicU64::new(0)]);
        Self { lock, layout, functions: *functions, twins }
    }

    /// As the functions of locks have it.
    pub fn lock(&self) -> *mut c_void {
        self.lock.as_ptr()
    }

    /// Adds one to both numbers: to the first before `section`, to the second after it, by what
    /// it was before. So of two sections at once one is lost.
    #[inline(always)]
    pub fn write(&self, section: impl FnOnce()) {
        // Relaxed, all: the lock orders them.
        let [first, second] = &self.twins.0;
        let before = second.load(Relaxed);
        first.store(first.load(Relaxed) + 1, Relaxed);
        section();
        second.store(before + 1, Relaxed);
    }

    /// Whether a writer was at work when `section` began, ended, or between.
    #[inline(always)]
    pub fn is_torn(&self, section: impl FnOnce()) -> bool {
        // Relaxed, both: the lock orders them.
        let [first, second] = &self.twins.0;
        let before = second.load(Relaxed);
        section();
        first.load(Relaxed) != before
    }

    /// How often both were written; none: they differ.
    pub fn written(&self) -> Option<u64> {
        let [first, second] = self.twins.0.each_ref().map(|twin| twin.load(Relaxed));
        (first == second).then_some(first)
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        // SAFETY: made in `new`; nobody else has it any more, so nobody holds it.
        unsafe { (self.functions.destroy)(self.lock.as_ptr()) };
        // SAFETY: allocated in `new` by this layout.
        unsafe { alloc::dealloc(self.lock.as_ptr().cast(), self.layout) };
    }
}
