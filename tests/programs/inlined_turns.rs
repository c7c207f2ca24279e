//! Loops whose instructions are counted (`instructions.rs`), with locks of Rust's std: the first argument is the loop's number, and each
//! further one is the turns of a call.

use std::hint::black_box;
use std::sync::{Mutex, RwLock};

static ONE: Mutex<u64> = Mutex::new(0);
static TWO: Mutex<u64> = Mutex::new(0);
static TABLE: RwLock<u64> = RwLock::new(0);

#[unsafe(no_mangle)]
#[inline(never)]
pub fn std_mutexes(turns: u64) {
    for _ in 0..turns {
        *black_box(&ONE).lock().unwrap() += 1;
    }
}

#[unsafe(no_mangle)]
#[inline(never)]
pub fn std_nested(turns: u64) {
    for _ in 0..turns {
        let mut one = black_box(&ONE).lock().unwrap();
        *black_box(&TWO).lock().unwrap() += 1;
        *one += 1;
    }
}

#[unsafe(no_mangle)]
#[inline(never)]
pub fn std_readers(turns: u64) {
    for _ in 0..turns {
        black_box(*black_box(&TABLE).read().unwrap());
    }
}

fn main() {
    let numbers: Vec<u64> =
        std::env::args().skip(1).map(|number| number.parse().unwrap()).collect();
    let turns = [std_mutexes, std_nested, std_readers][numbers[0] as usize];
    numbers[1..].iter().for_each(|&number| turns(number));
}
