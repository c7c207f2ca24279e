//! A ledger that is read while its process removes rows, or was killed as it did: the order of what
//! is left is always the same.

mod host;
mod restless;

use std::cell::RefCell;
use std::collections::HashSet;
use std::io;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use lockwright_ledger::layout::PAGE;
use lockwright_ledger::live::Source;
use lockwright_ledger::rows::{Evidence, Segment, Thread};
use lockwright_ledger::{Ledger, Writer};

use host::{Host, PAGES, random};

/// The segments with evidence, and of each pair whether the first comes before the second.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Order(Vec<(u32, u32)>);

impl Order {
    /// `None` where a segment with evidence, or its thread, is not there.
    fn of(ledger: &Ledger) -> Option<Self> {
        let segments: HashSet<u32> =
            ledger.rows::<Evidence>().map(|(_, row)| row.segment).collect();
        let mut pairs = Vec::new();
        for &last in &segments {
            let thread = ledger.get::<Segment>(last)?.thread;
            ledger.get::<Thread>(thread)?;
            let (mut open, mut seen) = (vec![last], HashSet::new());
            while let Some(at) = open.pop() {
                let Some(row) = ledger.get::<Segment>(at) else { continue };
                open.extend(
                    [row.prev, row.peer].into_iter().filter(|&id| id != 0 && seen.insert(id)),
                );
            }
            pairs.extend(segments.iter().filter(|id| seen.contains(id)).map(|&id| (id, last)));
        }
        pairs.sort_unstable();
        Some(Self(pairs))
    }

    /// Those of segments that the ledger has evidence of.
    fn among(&self, ledger: &Ledger) -> Self {
        let found: HashSet<u32> = ledger.rows::<Evidence>().map(|(_, row)| row.segment).collect();
        let is_found = |(a, b): &&(u32, u32)| found.contains(a) && found.contains(b);
        Self(self.0.iter().filter(is_found).copied().collect())
    }
}

fn read(bytes: &[u8]) -> Ledger {
    Ledger::from_bytes(bytes.to_vec()).expect("a ledger")
}

/// A process that has much to remove, and the order of what it keeps. It has removed rows before, so
/// that the later ones do not lie behind the earlier ones.
fn before_a_removal(seed: u64) -> (Host, Order) {
    let mut host = Host::new();
    let mut random = random(seed);
    for _ in 0..3 {
        host.act_at_random(&mut random, 60);
        host.remove_now();
        host.core.reclaim_when_due();
    }
    host.act_at_random(&mut random, 80);
    let order = Order::of(&read(host.core.ledger().bytes())).expect("whole");
    (host, order)
}

thread_local! {
    /// The ledger after each store of the removal.
    static STEPS: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
}

/// The ledger as it is after each store of one removal, and the order that all of them are to have.
fn steps(seed: u64) -> (Vec<Vec<u8>>, Order) {
    let (mut host, order) = before_a_removal(seed);
    let keep = |writer: &Writer| STEPS.with_borrow_mut(|steps| steps.push(writer.bytes().to_vec()));
    // All but the first of these look at other things: that the removal is over, say.
    host.core.writer().look_at_each_step(Some(keep));
    host.remove_now();
    (STEPS.take(), order)
}

#[test]
fn after_each_store_of_a_removal_the_order_is_the_same() {
    let (mut looks, mut removed) = (0, 0);
    for seed in 0..3 {
        let (steps, order) = steps(seed);
        let segments = |step: &[u8]| read(step).rows::<Segment>().count();
        removed += segments(&steps[0]) - segments(&steps[steps.len() - 1]);
        for step in &steps {
            assert!(Order::of(&read(step)).as_ref() == Some(&order), "step {looks}");
            looks += 1;
        }
    }
    assert!(looks > 200 && removed > 50, "{looks} stores, {removed} segments removed");
}

/// The check above finds a removal that stores in another order.
#[test]
fn a_removal_in_the_wrong_order_is_noticed() {
    let (mut host, order) = before_a_removal(1);
    let steps: Vec<u32> =
        read(host.core.ledger().bytes()).rows::<Segment>().map(|row| row.0).collect();
    let mut is_noticed = false;
    for id in steps {
        // The planted fault: what others come after goes first.
        host.core.writer().remove::<Segment>(id);
        is_noticed |= Order::of(&read(host.core.ledger().bytes())).as_ref() != Some(&order);
    }
    assert!(is_noticed);
}

/// A file whose bytes change while it is read: what is before `split` is of one moment, and what is
/// behind that of a later one, of which the process goes on to the next.
struct Moments {
    moments: Vec<Vec<u8>>,
    split: usize,
}

impl Source for Moments {
    fn read(&mut self, bytes: &mut [u8], at: u64) -> io::Result<()> {
        let at = at as usize;
        let split = self.split.clamp(at, at + bytes.len()) - at;
        let now = &self.moments[0];
        bytes[..split].copy_from_slice(&now[at..at + split]);
        // The header is read at once.
        if bytes.len() > 2 * PAGE && self.moments.len() > 1 {
            self.moments.remove(0);
        }
        let end = at + bytes.len();
        bytes[split..].copy_from_slice(&self.moments[0][at + split..end]);
        Ok(())
    }

    fn stored(&mut self) -> u64 {
        self.moments[0].len() as u64
    }

    fn pause(&mut self) {}
}

fn copy(moments: &[&Vec<u8>], split: usize) -> Ledger {
    let moments = moments.iter().map(|&bytes| bytes.clone()).collect();
    Ledger::copy(&mut Moments { moments, split }, (PAGES * PAGE) as u64).expect("a ledger")
}

/// The bytes of a file that was copied up to `split` at one moment, and from there on at another.
fn spliced(first: &[u8], second: &[u8], split: usize) -> Ledger {
    read(&[&first[..split], &second[split..]].concat())
}

#[test]
fn a_copy_that_spans_a_removal_is_made_again() {
    let (mut lost, mut made) = (0, 0);
    for seed in 0..2 {
        let (host, order) = before_a_removal(seed);
        let first = host.core.ledger().bytes().to_vec();
        let (steps, _) = steps(seed);
        let last = &steps[steps.len() - 1];
        for split in (2 * PAGE..first.len()).step_by(2048) {
            // The planted fault: such a copy as it is.
            lost += u32::from(Order::of(&spliced(&first, last, split)).as_ref() != Some(&order));
            let copy = copy(&[&first, last], split);
            assert!(!copy.is_torn());
            assert!(Order::of(&copy).as_ref() == Some(&order), "split at {split}");
            made += 1;
        }
    }
    assert!(lost > 0, "none of {made} copies would have lost an order");
}

#[test]
fn a_process_killed_in_a_removal_leaves_a_whole_ledger() {
    let (steps, order) = steps(3);
    let mut killed = 0;
    for step in &steps {
        // Nothing changes any more.
        let copy = copy(&[step], 2 * PAGE);
        assert!(!copy.is_torn());
        assert!(Order::of(&copy).as_ref() == Some(&order));
        killed += read(step).header().removals & 1;
    }
    assert!(killed > 50, "{killed} within the removal");
}

#[test]
fn a_copy_within_a_slow_removal_is_made_again() {
    let (steps, order) = steps(2);
    let all: Vec<&Vec<u8>> = steps.iter().collect();
    for split in (2 * PAGE..steps[0].len()).step_by(2048) {
        let copy = copy(&all[..all.len().min(40)], split);
        assert!(!copy.is_torn());
        assert!(Order::of(&copy).as_ref() == Some(&order), "split at {split}");
    }
}

#[test]
fn a_ledger_that_never_holds_still_says_so() {
    let bytes = Host::new().core.ledger().bytes().to_vec();
    assert!(restless::copy(bytes, (PAGES * PAGE) as u64).is_torn());
}

/// Threads begin while the file is copied, and their rows take places of such as are gone: a copy may
/// have a row without the one that was added before it.
#[test]
fn rows_that_were_added_while_the_file_was_copied_are_left_out() {
    let (mut lost, mut made) = (0, 0);
    for seed in 0..2 {
        let (mut host, _) = before_a_removal(seed);
        for _ in 0..70 {
            host.lock_alone(host.main);
            host.remove_now();
        }
        let first = host.core.ledger().bytes().to_vec();
        let order = Order::of(&read(&first)).expect("whole");
        let newest = read(&first).rows::<Segment>().map(|(id, _)| id).max().expect("some");
        // The next removal is far.
        host.core.reclaim_when_due();
        for _ in 0..8 {
            let thread = host.create();
            // Its context has all the evidence that it can have: the oldest goes.
            host.lock_alone(thread);
            let id = host.end(thread);
            host.join(id);
            host.lock_alone(host.main);
        }
        let second = host.core.ledger().bytes().to_vec();
        let after = Order::of(&read(&second)).expect("whole");
        for split in (2 * PAGE..first.len()).step_by(2048) {
            // The planted fault: of the new rows, some without those before them.
            let torn = spliced(&first, &second, split);
            let orders = Order::of(&torn);
            lost += u32::from(orders.is_none_or(|it| it.0.len() < after.among(&torn).0.len()));
            let copy = copy(&[&first, &second], split);
            assert!(!copy.is_torn());
            assert!(copy.rows::<Segment>().all(|(id, _)| id <= newest));
            assert!(Order::of(&copy) == Some(order.among(&copy)), "split at {split}");
            made += 1;
        }
    }
    assert!(lost > 0, "none of {made} copies would have lost an order");
}

/// One thread after the other, each joined: all that they did is in one order, whenever the file is
/// read.
#[test]
fn a_file_that_is_read_while_threads_come_and_go() {
    let (path, file) = tempfile();
    file.set_len((PAGES * PAGE) as u64).expect("room");
    // SAFETY: a new mapping of a file of that length, which stays.
    let base = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            PAGES * PAGE,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED,
            file.as_raw_fd(),
            0,
        )
    };
    assert_ne!(base, libc::MAP_FAILED);
    let mut host = Host::at(base.cast());
    host.core.reclaim_eagerly();
    let is_over = AtomicBool::new(false);
    let copies = std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut copies = 0;
            while !is_over.load(Relaxed) || copies == 0 {
                let ledger = Ledger::open(&path).expect("readable at any time");
                // It may have been at it each time; then it says so.
                if ledger.is_torn() {
                    continue;
                }
                let Order(pairs) = Order::of(&ledger).expect("whole");
                let all: HashSet<u32> =
                    ledger.rows::<Evidence>().map(|(_, row)| row.segment).collect();
                assert_eq!(pairs.len(), all.len() * all.len().saturating_sub(1) / 2);
                copies += 1;
            }
            copies
        });
        for _ in 0..3_000 {
            let thread = host.create();
            host.lock_alone(thread);
            let id = host.end(thread);
            host.join(id);
        }
        is_over.store(true, Relaxed);
        reader.join().expect("no order was missing")
    });
    std::fs::remove_file(&path).expect("it is there");
    assert!(copies > 0);
}

fn tempfile() -> (std::path::PathBuf, std::fs::File) {
    let path = std::env::temp_dir().join(format!("lockwright-live-{}", std::process::id()));
    let options = std::fs::File::options().read(true).write(true).create_new(true).to_owned();
    let file = options.open(&path).expect("a file");
    (path, file)
}
