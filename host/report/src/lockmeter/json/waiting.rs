//! Threads that were still waiting, for machines.

use serde::Serialize;

use super::values::{ns, place_of};
use lockwright_analysis::lockmeter::model::{Holder, Waiter};

#[derive(Serialize)]
pub struct WaiterOut {
    pid: u32,
    process: usize,
    tid: u32,
    lock: Option<usize>,
    site: Option<usize>,
    wait: Option<usize>,
    addr: u64,
    begun_ns: Option<f64>,
    waited_ns: Option<f64>,
    holders: Vec<HolderOut>,
    names: Option<u32>,
}

#[derive(Serialize)]
struct HolderOut {
    tid: u32,
    site: Option<usize>,
    begun_ns: Option<f64>,
}

pub fn waiter(waiter: &Waiter) -> WaiterOut {
    let (lock, site, wait) = place_of(waiter.at);
    WaiterOut {
        pid: waiter.pid,
        process: waiter.process,
        tid: waiter.tid,
        lock,
        site,
        wait,
        addr: waiter.addr,
        begun_ns: waiter.begun_ns.map(ns),
        waited_ns: waiter.waited_ns.map(ns),
        holders: waiter.holders.iter().map(holder).collect(),
        names: waiter.names,
    }
}

fn holder(holder: &Holder) -> HolderOut {
    HolderOut { tid: holder.tid, site: holder.site, begun_ns: holder.begun_ns.map(ns) }
}
