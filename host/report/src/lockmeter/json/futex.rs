//! Futexes that threads wait at, and what ends waits, for machines.

use serde::Serialize;

use super::values::ns;
use lockwright_analysis::finding::Frame;
use lockwright_analysis::finding::futex::FutexKind;
use lockwright_analysis::lockmeter::model::{Futex, Waker, WakerKind};

#[derive(Serialize)]
pub struct FutexOut<'r> {
    #[serde(flatten)]
    kind: FutexKind,
    addr: u64,
    name: Option<&'r str>,
    refused: u64,
    interrupted: u64,
}

#[derive(Serialize)]
pub struct WakerOut<'r> {
    place: usize,
    kind: &'static str,
    calls: u64,
    count: u64,
    ns: f64,
    in_vain: u64,
    stack: &'r [Frame],
}

pub fn futex(futex: &Futex) -> FutexOut<'_> {
    FutexOut {
        kind: futex.kind,
        addr: futex.addr,
        name: futex.name.as_deref(),
        refused: futex.refused,
        interrupted: futex.interrupted,
    }
}

pub fn waker(waker: &Waker) -> WakerOut<'_> {
    WakerOut {
        place: waker.place,
        kind: match waker.kind {
            WakerKind::Wake => "wake",
            WakerKind::Signal => "signal",
            WakerKind::Broadcast => "broadcast",
            WakerKind::Routine => "routine",
        },
        calls: waker.calls,
        count: waker.count,
        ns: ns(waker.ns),
        in_vain: waker.in_vain,
        stack: &waker.stack,
    }
}
