//! The workload of debugobjects' pools: Long's 2019 debugobjects patches (LKML, 20 May 2019) were
//! measured by three parallel builds of a kernel. This is such a build as far as the engine sees
//! it. Many threads have jobs; a job acquires a lot of objects, uses them, and gives them up when
//! it is done. Others were there before and stay. Prints what it took, as JSON.
//!
//!     pools SWITCHES THREADS JOBS RESIDENT
//!
//! SWITCHES is a sum of [`Switches`]; each thread has JOBS in a build; RESIDENT objects are there
//! all the time.
//!
//! Time is the workload's own: a thread's clock goes on with the objects that it acquires. So how
//! often records are given back to the slab depends on nothing but the switches, and rates are the
//! document's whatever the machine is.

use std::fs::File;
use std::io::Write;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use lockwright_engines::debugobjects::{
    Buckets, Descr, Fault, Local, Objects, Operation, Place, Rules, Source, Switches, YIELDS,
};

/// Builds, one after the other.
const BUILDS: u64 = 3;
/// Objects of a job: at least, and how many more at most.
const JOB: (u64, u64) = (200, 3_600);
/// What an object takes of its thread's time, ns: with 16 threads some 80,000 are acquired a
/// second.
const TIME_OF_ONE: u64 = 200_000;
/// One activation in so many is one too many.
const FAULTY: u64 = 2_000;

/// The kernel's timers' rules, as far as faults go.
static DESCR: Descr = Descr::new(1, Rules::KERNEL);

static OBJECTS: Objects = Objects::new(&BUCKETS);
static BUCKETS: Buckets = Buckets::new();

fn main() -> Result<(), String> {
    let arguments: Vec<u64> = std::env::args().skip(1).map_while(|a| a.parse().ok()).collect();
    let [switches, threads, jobs, resident] = arguments[..] else {
        return Err("usage: pools SWITCHES THREADS JOBS RESIDENT".to_owned());
    };
    if !(1..64).contains(&threads) {
        return Err(format!("THREADS {threads}: 1 to 63"));
    }
    OBJECTS.start(&SOURCE, Switches(switches as u32));
    let local = OBJECTS.start_local();
    // SAFETY: this thread's own, for good.
    let own = unsafe { local.as_ref() };
    for i in 0..resident {
        let place = Place { thread: 0, stack: 1, time_ns: 1 };
        OBJECTS.apply(own, &DESCR, address(0, i), Operation::Init, place, 0);
    }
    let told = File::create("/dev/null").map_err(|e| format!("/dev/null: {e}"))?;
    let all_there = Barrier::new(threads as usize);
    let (begin, before) = (Instant::now(), system_time());
    let acquired: u64 = thread::scope(|scope| {
        let workers: Vec<_> = (1..=threads)
            .map(|me| {
                let (all_there, told) = (&all_there, &told);
                scope.spawn(move || {
                    let local = OBJECTS.start_local();
                    // SAFETY: this thread's own, until its end.
                    let acquired =
                        Worker::new(unsafe { local.as_ref() }, me, told).work(jobs, all_there);
                    // SAFETY: `local` came from `start_local` in this thread, and the worker that
                    // used it has returned.
                    unsafe { OBJECTS.end_local(local) };
                    acquired
                })
            })
            .collect();
        workers.into_iter().map(|worker| worker.join().unwrap_or(0)).sum()
    });
    let (elapsed, system) = (begin.elapsed().as_secs_f64(), system_time() - before);
    let stats = OBJECTS.stats();
    if !OBJECTS.is_on() || stats.pool_used != resident || stats.lost != 0 {
        return Err(format!("objects are lost: {stats:?}"));
    }
    println!(
        "{{\"acquired\":{acquired},\"elapsed_s\":{elapsed},\"system_s\":{system},\"objs_allocated\":{},\
         \"objs_freed\":{},\"pool_max_used\":{},\"pool_lock_acquired\":{},\"pool_lock_contended\":{}}}",
        stats.objs_allocated,
        stats.objs_freed,
        stats.pool_max_used,
        stats.pool_lock_acquired,
        stats.pool_lock_contended,
    );
    Ok(())
}

/// A thread that has jobs.
struct Worker<'a> {
    own: Option<&'a Local>,
    me: u64,
    now: u64,
    random: u64,
    told: &'a File,
}

impl<'a> Worker<'a> {
    fn new(own: Option<&'a Local>, me: u64, told: &'a File) -> Self {
        let random = me.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        Self { own, me, now: 1, random, told }
    }

    fn random(&mut self) -> u64 {
        // xorshift64 (Marsaglia).
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random
    }

    /// All builds; how many objects that took.
    fn work(mut self, jobs: u64, all_there: &Barrier) -> u64 {
        let mut acquired = 0;
        for _ in 0..BUILDS {
            all_there.wait();
            for _ in 0..jobs {
                let count = JOB.0 + self.random() % JOB.1;
                self.job(count);
                acquired += count;
            }
        }
        acquired
    }

    fn job(&mut self, count: u64) {
        for i in 0..count {
            self.now += TIME_OF_ONE;
            self.tell(i, Operation::Init);
            self.tell(i, Operation::Activate);
            if self.random().is_multiple_of(FAULTY) {
                self.tell(i, Operation::Activate);
            }
            self.tell(i, Operation::Deactivate);
            // Jobs wait for their files: another one's turn. So jobs overlap on machines with few
            // processors, too.
            if i % 64 == 63 {
                thread::yield_now();
            }
        }
        for i in 0..count {
            self.tell(i, Operation::Free);
        }
    }

    fn tell(&self, i: u64, op: Operation) {
        let place = Place { thread: self.me as u32, stack: 1, time_ns: self.now };
        let object = (address(self.me, i), op);
        OBJECTS.apply_with(self.own, &DESCR, object, place, &mut |fault| self.report(fault));
    }

    /// As slow as a report on the console would be, or less.
    fn report(&self, fault: &Fault) {
        // To /dev/null; it matters to nobody whether it comes there.
        let _ = writeln!(&mut &*self.told, "{fault:?}");
    }
}

/// Where a thread's object lies.
fn address(thread: u64, i: u64) -> u64 {
    // As far apart as timers in structures.
    (thread << 32) + i * 320
}

/// Time that the kernel spent for this process, s.
fn system_time() -> f64 {
    // SAFETY: all zero is a rusage, which the call fills in.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &mut usage);
        usage
    };
    usage.ru_stime.tv_sec as f64 + usage.ru_stime.tv_usec as f64 / 1e6
}

// --- memory ------------------------------------------------------------------------------------

fn relax(turn: u32) {
    if turn < YIELDS { thread::yield_now() } else { thread::sleep(Duration::from_millis(1)) }
}

/// Anonymous mappings, as the preload library's.
static SOURCE: Source = Source { map, unmap, relax };

fn map(bytes: usize) -> *mut u8 {
    // Twice as much has a piece that is aligned to its length; the rest goes back.
    // SAFETY: a new mapping, and pieces of it that nobody uses.
    unsafe {
        let (access, kind) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        let whole = libc::mmap(std::ptr::null_mut(), 2 * bytes, access, kind, -1, 0);
        if whole == libc::MAP_FAILED {
            return std::ptr::null_mut();
        }
        let before = whole.align_offset(bytes);
        let at = whole.byte_add(before);
        if before > 0 {
            libc::munmap(whole, before);
        }
        libc::munmap(at.byte_add(bytes), bytes - before);
        at.cast()
    }
}

/// # Safety
/// As [`Source::unmap`] says.
unsafe fn unmap(at: *mut u8, bytes: usize) {
    // SAFETY: by this function's contract `at` is a mapping of `bytes` bytes from `map`, and nobody
    // uses it.
    unsafe { libc::munmap(at.cast(), bytes) };
}
