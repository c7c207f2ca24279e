//! Locks that several structures share by `Arc`: a report names a lock by the field, unless other fields
//! share the same one. The orders below are faults for the tool to find; they come one after the other,
//! so this never hangs.
//!
//!     cargo build --example shared
//!     lockwright check --all -- target/debug/examples/shared

use std::thread;

use lockwright::sync::{Arc, Mutex};

struct Limits {
    daily: Mutex<u32>,
}

struct Bank {
    accounts: Arc<Mutex<Vec<u32>>>,
    limits: Arc<Limits>,
    log: Mutex<Vec<u32>>,
}

impl Bank {
    fn pay(&self, amount: u32) {
        let mut accounts = self.accounts.lock().unwrap();
        let mut log = self.log.lock().unwrap();
        let mut daily = self.limits.daily.lock().unwrap();
        accounts[0] -= amount;
        *daily -= amount;
        log.push(amount);
    }

    fn audit(&self) -> bool {
        let daily = self.limits.daily.lock().unwrap();
        let log = self.log.lock().unwrap();
        let accounts = self.accounts.lock().unwrap();
        accounts[0] + log.iter().sum::<u32>() == 100 && *daily > 0
    }
}

/// One's left fork is another's right.
struct Philosopher {
    left: Arc<Mutex<()>>,
    right: Arc<Mutex<()>>,
}

impl Philosopher {
    fn eat(&self) {
        let _left = self.left.lock().unwrap();
        let _right = self.right.lock().unwrap();
    }
}

fn main() {
    let bank = Arc::new(Bank {
        accounts: Arc::new(Mutex::new(vec![100])),
        limits: Arc::new(Limits { daily: Mutex::new(1000) }),
        log: Mutex::new(Vec::new()),
    });
    let teller = Arc::clone(&bank);
    thread::spawn(move || teller.pay(10)).join().unwrap();
    assert!(bank.audit());

    let forks: Vec<_> = (0..3).map(|_| Arc::new(Mutex::new(()))).collect();
    let fork = |number: usize| Arc::clone(&forks[number % forks.len()]);
    for seat in 0..forks.len() {
        let philosopher = Philosopher { left: fork(seat), right: fork(seat + 1) };
        thread::spawn(move || philosopher.eat()).join().unwrap();
    }
}
