//! Locks of Rust's std, whose fast paths the compiler inlines. The first argument says what happens.

use std::mem;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::sync::{Arc, Condvar, Mutex, RwLock};
use std::thread;

static ACCOUNTS: Mutex<u64> = Mutex::new(0);
static JOURNAL: Mutex<u64> = Mutex::new(0);
static INDEX: Mutex<u64> = Mutex::new(0);
static TABLE: RwLock<u64> = RwLock::new(0);

/// Whose turn it is: no lock and no futex, so that nothing orders the threads as far as anybody sees.
static TURN: AtomicU32 = AtomicU32::new(0);

fn await_turn(turn: u32) {
    while TURN.load(SeqCst) != turn {
        thread::yield_now();
    }
}

/// Runs the jobs one after the other, each in a thread of its own, all of which live until the last has run.
fn in_turns(jobs: Vec<Box<dyn FnOnce() + Send>>) {
    let all = jobs.len() as u32;
    let threads: Vec<_> = (0..)
        .zip(jobs)
        .map(|(turn, job)| {
            thread::spawn(move || {
                await_turn(turn);
                job();
                TURN.store(turn + 1, SeqCst);
                while TURN.load(SeqCst) < all {
                    thread::yield_now();
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

#[inline(never)]
fn deposit() {
    let mut accounts = ACCOUNTS.lock().unwrap();
    *JOURNAL.lock().unwrap() += 1;
    *accounts += 1;
}

#[inline(never)]
fn replay() {
    let mut journal = JOURNAL.lock().unwrap();
    *ACCOUNTS.lock().unwrap() += 1;
    *journal += 1;
}

#[inline(never)]
fn rebuild() {
    let mut journal = JOURNAL.lock().unwrap();
    *INDEX.lock().unwrap() += 1;
    *journal += 1;
}

#[inline(never)]
fn look_up() {
    let mut index = INDEX.lock().unwrap();
    *ACCOUNTS.lock().unwrap() += 1;
    *index += 1;
}

/// A lock in an object of the heap.
struct Bank {
    ledger: Mutex<u64>,
    audit: Mutex<u64>,
}

impl Bank {
    #[inline(never)]
    fn book(&self) {
        let mut ledger = self.ledger.lock().unwrap();
        *self.audit.lock().unwrap() += 1;
        *ledger += 1;
    }

    #[inline(never)]
    fn check(&self) {
        let mut audit = self.audit.lock().unwrap();
        *self.ledger.lock().unwrap() += 1;
        *audit += 1;
    }
}

#[inline(never)]
fn reads_then_locks() {
    let table = TABLE.read().unwrap();
    *ACCOUNTS.lock().unwrap() += *table;
}

#[inline(never)]
fn locks_then_writes() {
    let accounts = ACCOUNTS.lock().unwrap();
    *TABLE.write().unwrap() += *accounts;
}

#[inline(never)]
fn forgets() {
    mem::forget(JOURNAL.lock().unwrap());
}

/// The thread that is joined takes the lock, too, unless it comes before.
#[inline(never)]
fn joins_with_lock() {
    let other = thread::spawn(|| {
        *ACCOUNTS.lock().unwrap() += 1;
        TURN.store(1, SeqCst);
    });
    while TURN.load(SeqCst) == 0 {
        thread::yield_now();
    }
    let accounts = ACCOUNTS.lock().unwrap();
    other.join().unwrap();
    drop(accounts);
}

#[inline(never)]
fn waits_with_lock(pair: &(Mutex<bool>, Condvar)) {
    let accounts = ACCOUNTS.lock().unwrap();
    let mut ready = pair.0.lock().unwrap();
    while !*ready {
        ready = pair.1.wait(ready).unwrap();
    }
    drop(ready);
    drop(accounts);
}

/// Both threads hold one lock and want the other.
fn deadlock() {
    let meet = || {
        TURN.fetch_add(1, SeqCst);
        while TURN.load(SeqCst) < 2 {
            thread::yield_now();
        }
    };
    let other = thread::spawn(move || {
        let _journal = JOURNAL.lock().unwrap();
        meet();
        let _accounts = ACCOUNTS.lock().unwrap();
    });
    let _accounts = ACCOUNTS.lock().unwrap();
    meet();
    let _journal = JOURNAL.lock().unwrap();
    other.join().unwrap();
}

/// What several threads add to.
type Shared = Arc<Vec<(Mutex<u64>, RwLock<[u64; 4]>)>>;

/// Takes locks at random; everything that is kept in registers meanwhile is in the result.
fn work(seed: u64, rounds: u64, shared: &Shared) -> u64 {
    let (mut state, mut own, mut ratio) = (seed, 0u64, 1.0f64);
    for round in 0..rounds {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let (mutex, table) = &shared[(state >> 33) as usize % shared.len()];
        let half = ratio * 0.5;
        match round % 4 {
            0 => *mutex.lock().unwrap() += 1,
            1 => {
                let mut sum = mutex.lock().unwrap();
                let table = table.read().unwrap();
                *sum += 1 + table[3] - table[3];
            }
            2 => {
                let mut table = table.write().unwrap();
                table.iter_mut().for_each(|cell| *cell += 1);
            }
            _ => match mutex.try_lock() {
                Ok(mut sum) => *sum += 1,
                Err(_) => *mutex.lock().unwrap() += 1,
            },
        }
        ratio = half + 0.5;
        own += u64::from(ratio == 1.0);
    }
    own
}

/// Many threads and locks: whatever goes wrong is seen in the sums.
fn sums(rounds: u64) {
    let shared: Shared = Arc::new((0..7).map(|_| (Mutex::new(0), RwLock::new([0; 4]))).collect());
    let threads: Vec<_> = (1..=4)
        .map(|seed| {
            let shared = shared.clone();
            thread::spawn(move || work(seed, rounds, &shared))
        })
        .collect();
    let own: u64 = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
    let sum: u64 = shared.iter().map(|(mutex, _)| *mutex.lock().unwrap()).sum();
    let cells: u64 = shared.iter().map(|(_, table)| table.read().unwrap().iter().sum::<u64>()).sum();
    println!("{own} {sum} {cells}");
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let bank = Arc::new(Bank { ledger: Mutex::new(0), audit: Mutex::new(0) });
    let of_bank = |f: fn(&Bank)| -> Box<dyn FnOnce() + Send> {
        let bank = bank.clone();
        Box::new(move || f(&bank))
    };
    match arguments[1].as_str() {
        "abba" => in_turns(vec![Box::new(deposit), Box::new(replay)]),
        "ordered" => in_turns(vec![Box::new(deposit), Box::new(deposit)]),
        "three" => in_turns(vec![Box::new(deposit), Box::new(rebuild), Box::new(look_up)]),
        "heap" => in_turns(vec![of_bank(Bank::book), of_bank(Bank::check)]),
        "rwlock" => in_turns(vec![Box::new(reads_then_locks), Box::new(locks_then_writes)]),
        "forget" => in_turns(vec![Box::new(forgets)]),
        "join" => in_turns(vec![Box::new(|| thread::spawn(deposit).join().unwrap())]),
        "join-with-lock" => joins_with_lock(),
        "condvar" => {
            let pair = Arc::new((Mutex::new(false), Condvar::new()));
            let other = pair.clone();
            let waiter = thread::spawn(move || waits_with_lock(&other));
            *pair.0.lock().unwrap() = true;
            pair.1.notify_all();
            waiter.join().unwrap();
        }
        "deadlock" => deadlock(),
        "sums" => sums(arguments[2].parse().unwrap()),
        other => panic!("{other}"),
    }
}
