//! Futexes that threads wait at, for machines.

use serde::Serialize;

use super::values::ns;
use lockwright_analysis::finding::Frame;
use lockwright_analysis::finding::futex::FutexKind;
use lockwright_analysis::lockmeter::model::{Futex, Waker};

#[derive(Serialize)]
pub struct FutexOut<'r> {
    #[serde(flatten)]
    kind: FutexKind,
    addr: u64,
    name: Option<&'r str>,
    refused: u64,
    interrupted: u64,
    wakers: Vec<WakerOut<'r>>,
}

#[derive(Serialize)]
struct WakerOut<'r> {
    place: usize,
    count: u64,
    ns: f64,
    stack: &'r [Frame],
}

pub fn futex(futex: &Futex) -> FutexOut<'_> {
    FutexOut {
        kind: futex.kind,
        addr: futex.addr,
        name: futex.name.as_deref(),
        refused: futex.refused,
        interrupted: futex.interrupted,
        wakers: futex.wakers.iter().map(waker).collect(),
    }
}

fn waker(waker: &Waker) -> WakerOut<'_> {
    WakerOut { place: waker.place, count: waker.count, ns: ns(waker.ns), stack: &waker.stack }
}
