//! Metrics of the crate prometheus, whose registry and vectors are under RwLocks.

use std::thread;

use prometheus::{Encoder, IntCounterVec, Opts, Registry, TextEncoder};

fn main() {
    let registry = Registry::new();
    let counters = IntCounterVec::new(Opts::new("work", "work done"), &["by"]).expect("counters");
    registry.register(Box::new(counters.clone())).expect("registered");
    let names = ["one", "two", "three"];
    let threads = names.map(|name| {
        let (registry, counters) = (registry.clone(), counters.clone());
        thread::spawn(move || {
            for _ in 0..100 {
                counters.with_label_values(&[name]).inc();
                registry.gather();
            }
        })
    });
    threads.into_iter().for_each(|thread| thread.join().expect("no panic"));
    let mut text = Vec::new();
    TextEncoder::new().encode(&registry.gather(), &mut text).expect("text");
    print!("{}", String::from_utf8(text).expect("it is text"));
}
