//! Waits of `std::sync` whose numbers are known: the holder gives the mutex up only when the other
//! thread has gone to sleep for it. `hang` has two threads take two mutexes in either order, and a handler of a signal, which
//! might end that. `asleep` has none, and `channels` two threads that each wait for what the other is to send.

use std::fs;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::sync::{Arc, Barrier, Mutex, MutexGuard, mpsc};
use std::thread;

const ROUNDS: u32 = 50;

static SHARED: Mutex<u32> = Mutex::new(0);
static TID: AtomicU32 = AtomicU32::new(0);
static GIVEN_UP: AtomicU32 = AtomicU32::new(0);

/// Kernel id of the calling thread.
fn tid() -> u32 {
    let link = fs::read_link("/proc/thread-self").expect("proc");
    link.file_name().unwrap().to_str().unwrap().parse().unwrap()
}

/// Waits until the thread sleeps in a futex call at a word within `bytes` of `at`.
fn await_asleep(tid: u32, at: usize, bytes: usize) {
    loop {
        let call = fs::read_to_string(format!("/proc/self/task/{tid}/syscall")).expect("proc");
        let mut words = call.split_whitespace();
        let is_futex = words.next() == Some("202");
        let word = words.next().and_then(|w| usize::from_str_radix(w.get(2..)?, 16).ok());
        if is_futex && word.is_some_and(|word| (at..at + bytes).contains(&word)) {
            return;
        }
        thread::yield_now();
    }
}

fn at<T>(what: &T) -> (usize, usize) {
    (std::ptr::from_ref(what) as usize, size_of::<T>())
}

#[inline(never)]
fn wants() {
    *SHARED.lock().unwrap() += 1;
}

fn contended() {
    let (tell, told) = mpsc::channel();
    let (done, is_done) = mpsc::channel();
    let other = thread::spawn(move || {
        TID.store(tid(), SeqCst);
        for () in told {
            wants();
            done.send(()).unwrap();
        }
    });
    while TID.load(SeqCst) == 0 {
        thread::yield_now();
    }
    for _ in 0..ROUNDS {
        let guard = SHARED.lock().unwrap();
        tell.send(()).unwrap();
        let (word, bytes) = at(&SHARED);
        await_asleep(TID.load(SeqCst), word, bytes);
        gives_up(guard);
        is_done.recv().unwrap();
    }
    drop(tell);
    other.join().unwrap();
    println!("{}", SHARED.lock().unwrap());
}

#[inline(never)]
fn gives_up(guard: MutexGuard<'_, u32>) {
    drop(guard);
    // After which there is more to do: so the call is not its last, and the frame is there.
    GIVEN_UP.fetch_add(1, SeqCst);
}

fn hang() {
    let (left, right) = (Arc::new(Mutex::new(0)), Arc::new(Mutex::new(0)));
    let barrier = Arc::new(Barrier::new(2));
    let take =
        |a: &Arc<Mutex<u32>>, b: &Arc<Mutex<u32>>, f: fn(&Mutex<u32>, &Mutex<u32>, &Barrier)| {
            let (a, b, barrier) = (Arc::clone(a), Arc::clone(b), Arc::clone(&barrier));
            thread::spawn(move || f(&a, &b, &barrier))
        };
    println!("{}", std::process::id());
    let threads = [take(&left, &right, left_then_right), take(&right, &left, right_then_left)];
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

#[inline(never)]
fn left_then_right(left: &Mutex<u32>, right: &Mutex<u32>, both: &Barrier) {
    let left = left.lock().unwrap();
    both.wait();
    *right.lock().unwrap() += *left;
}

#[inline(never)]
fn right_then_left(right: &Mutex<u32>, left: &Mutex<u32>, both: &Barrier) {
    let right = right.lock().unwrap();
    both.wait();
    *left.lock().unwrap() += *right;
}

fn channels() {
    let (to_main, from_other) = mpsc::channel::<u32>();
    let (to_other, from_main) = mpsc::channel::<u32>();
    let other = thread::spawn(move || to_main.send(from_main.recv().unwrap()).unwrap());
    to_other.send(from_other.recv().unwrap()).unwrap();
    other.join().unwrap();
}

extern "C" fn handler(_number: i32) {}

unsafe extern "C" {
    fn signal(number: i32, handler: extern "C" fn(i32)) -> usize;
}

fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("hang") => {
            const SIGUSR2: i32 = 12;
            // SAFETY: the handler does nothing.
            unsafe { signal(SIGUSR2, handler) };
            hang();
        }
        Some("asleep") => hang(),
        Some("channels") => channels(),
        _ => contended(),
    }
}
