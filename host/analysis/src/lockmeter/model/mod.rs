//! From ledgers to what a meter report shows: [`build`] reads them, [`MeterReport`] is what comes
//! of it.

mod at;
mod build;
mod by_thread;
pub(in crate::lockmeter) mod clock;
mod end;
mod histogram;
mod hold_bounds;
mod hold_error;
mod live;
mod numbers;
mod order;
mod report;
pub(in crate::lockmeter) mod site_table;
pub(crate) mod sums;
mod waiting;

pub use at::At;
pub(crate) use build::push_to_few;
pub use build::{build, build_with, is_metered};
pub use end::End;
pub use histogram::Histogram;
pub use hold_bounds::Bounds;
pub use hold_error::{FEWEST_TIMED, HoldError, one_longer_in};
pub use numbers::{Numbers, Times};
pub use order::by_wait;
pub use report::{
    Blame, Call, CallNumbers, Clock, Cost, Futex, Holder, Holding, Holds, Instance, LiveThread,
    Lock, LockThread, MeterReport, Mode, Nested, Process, Readers, Site, ThreadSite, Wait,
    WaitKind, Waiter, Waker, WakerKind,
};
