//! Locks of std in all places that operands can have.

use std::hint::black_box;
use std::sync::{Arc, Condvar, Mutex, RwLock};

pub struct Thing {
    pub name: String,
    pub count: Mutex<u64>,
    pub map: RwLock<Vec<u32>>,
    pub many: [Mutex<f64>; 7],
}

static GLOBAL: Mutex<u32> = Mutex::new(0);

#[inline(never)]
pub fn locks_global() -> u32 {
    let mut number = GLOBAL.lock().unwrap();
    *number += 1;
    *number
}

#[inline(never)]
pub fn locks_field(thing: &Thing) -> u64 {
    *thing.count.lock().unwrap() += 1;
    thing.name.len() as u64
}

#[inline(never)]
pub fn locks_array(thing: &Thing, nth: usize, factor: f64) -> f64 {
    let mut number = thing.many[nth].lock().unwrap();
    *number += factor;
    *number * factor
}

#[inline(never)]
pub fn locks_two(thing: &Thing) -> u64 {
    let count = thing.count.lock().unwrap();
    let number = thing.many[3].lock().unwrap();
    *count + *number as u64
}

#[inline(never)]
pub fn locks_read(thing: &Thing) -> usize {
    thing.map.read().unwrap().len()
}

#[inline(never)]
pub fn locks_write(thing: &Thing, number: u32) {
    thing.map.write().unwrap().push(number)
}

#[inline(never)]
pub fn locks_on_stack(number: u64) -> u64 {
    let mutex = Mutex::new(number);
    black_box(&mutex);
    *mutex.lock().unwrap() += 1;
    mutex.into_inner().unwrap()
}

#[inline(never)]
pub fn locks_waiting(mutex: &Mutex<bool>, condvar: &Condvar) {
    let mut is_set = mutex.lock().unwrap();
    while !*is_set {
        is_set = condvar.wait(is_set).unwrap();
    }
}

#[inline(never)]
pub fn locks_then_jumps(thing: &Thing, number: u32) -> u64 {
    let count = thing.count.lock().unwrap();
    match number {
        0 => *count,
        1 => locks_read(thing) as u64,
        2 => u64::from(locks_global()),
        3 => 7,
        4 => *count * 9,
        5 => {
            drop(count);
            locks_field(thing)
        }
        _ => 0,
    }
}

fn main() {
    let many = Default::default();
    let (count, map) = (Mutex::new(1), RwLock::new(Vec::new()));
    let thing = Arc::new(Thing { name: "x".to_owned(), count, map, many });
    let flag = Arc::new((Mutex::new(false), Condvar::new()));
    let other = (thing.clone(), flag.clone());
    let thread = std::thread::spawn(move || {
        for nth in 0..1000 {
            locks_then_jumps(&other.0, nth % 7);
            black_box(locks_array(&other.0, nth as usize % 7, 1.5));
            locks_write(&other.0, nth);
        }
        *other.1.0.lock().unwrap() = true;
        other.1.1.notify_all();
    });
    locks_waiting(&flag.0, &flag.1);
    thread.join().unwrap();
    println!("{} {} {}", locks_two(&thing), locks_on_stack(3), locks_read(&thing));
}
