//! A value that has a place of its own, and tells the tool what becomes of it.

use core::ops::{Deref, DerefMut};

use std::boxed::Box;

use super::Descr;

/// A value whose life is annotated, from [`Tracked::new`] to its drop. Dropped while it is active,
/// it is reported.
///
/// It lies on the heap: an object is its address, and this may be moved.
#[derive(Debug)]
pub struct Tracked<T> {
    place: Box<Place<T>>,
    descr: &'static Descr,
}

/// Not a zero-sized type: two objects must not share an address. The value comes first: fixups get
/// its address.
#[derive(Debug)]
#[repr(C)]
struct Place<T> {
    value: T,
    _bytes: u8,
}

impl<T> Tracked<T> {
    /// Gives the value its place, initialised.
    pub fn new(descr: &'static Descr, value: T) -> Self {
        let tracked = Self { place: Box::new(Place { value, _bytes: 0 }), descr };
        super::init(tracked.address(), descr);
        tracked
    }

    fn address(&self) -> *const Place<T> {
        &raw const *self.place
    }

    /// See [`super::activate`].
    #[inline(always)]
    pub fn activate(&self) -> bool {
        super::activate(self.address(), self.descr)
    }

    /// See [`super::deactivate`].
    #[inline(always)]
    pub fn deactivate(&self) {
        super::deactivate(self.address(), self.descr);
    }

    /// Its use is over, before it is dropped: later uses are found. See [`super::destroy`].
    #[inline(always)]
    pub fn destroy(&self) {
        super::destroy(self.address(), self.descr);
    }

    /// See [`super::active_state`].
    #[inline(always)]
    pub fn active_state(&self, expect: u32, next: u32) {
        super::active_state(self.address(), self.descr, expect, next);
    }
}

impl<T> Deref for Tracked<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.place.value
    }
}

impl<T> DerefMut for Tracked<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.place.value
    }
}

impl<T> Drop for Tracked<T> {
    fn drop(&mut self) {
        super::free(self.address(), self.descr);
    }
}
