//! Tests of lockmeter's engine, by the events that it gets: every number exact, whatever grows,
//! wraps or is reused.

use std::cell::Cell as Local;
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use lockwright_engines::lockdep::Core;
use lockwright_engines::lockmeter::{
    Boards, Call, CellRef, Ending, For, Hold, LockMeter, MeterThread, Missing, Pending, Place,
    ReadersRef, Share, Shares, key,
};
use lockwright_ledger::histogram::{self, RUN, RUNS};
use lockwright_ledger::rows::meter::{
    Blame, Board, Bucket, Carry, Cell, Meter, Readers, Site, blame_kind, histogram_kind, wait_kind,
};
use lockwright_ledger::{Ledger, Writer, layout::PAGE, readers_word};

thread_local! {
    /// Bytes of the test's ledgers that were to be given storage.
    static STORED: Local<usize> = const { Local::new(0) };
}

fn commit(_: *mut u8, len: usize) -> Result<(), u32> {
    STORED.set(STORED.get() + len);
    Ok(())
}

struct Host {
    meter: LockMeter,
    core: Core,
    base: *const u8,
    len: usize,
}

impl Host {
    fn new(pages: usize) -> Self {
        let words = vec![0u64; (pages + 1) * PAGE / 8].leak();
        let base = (words.as_mut_ptr() as usize).next_multiple_of(PAGE) as *mut u8;
        let len = pages * PAGE;
        // SAFETY: the words are leaked and zeroed, and `base` is the first page boundary in them.
        let writer = unsafe { Writer::create(base, len, commit, |_| {}) }.unwrap();
        Self { meter: LockMeter::new(), core: Core::new(writer), base, len }
    }

    fn thread(&mut self) -> &'static mut MeterThread {
        let thread = self.meter.thread_start(self.core.writer(), 1, 0).unwrap();
        // SAFETY: a row of the leaked ledger; the test uses one reference at a time.
        unsafe { &mut *thread }
    }

    fn ends(&mut self, thread: &mut MeterThread) {
        // SAFETY: the test does not use it again.
        unsafe { self.meter.thread_exit(thread, 0) };
    }

    fn cell(&mut self, thread: &mut MeterThread, site: u64) -> CellRef {
        let key = key(1 << 32, 0, site);
        let call = Call { class: 1, site, ..Call::default() };
        thread.find(key).unwrap_or_else(|| {
            let mut capture = |frames: &mut [u64]| {
                frames[0] = site;
                1
            };
            self.meter.cell(&mut self.core, thread, key, &call, &mut capture).unwrap()
        })
    }

    fn supply(
        &mut self,
        thread: &mut MeterThread,
        cell: CellRef,
        (kind, ticks): (u16, u64),
        missing: Option<Missing>,
    ) {
        if let Some(missing) = missing {
            self.meter.supply(self.core.writer(), thread, cell, kind, ticks, missing);
        }
    }

    fn held(&mut self, thread: &mut MeterThread, cell: CellRef, ticks: u64) {
        cell.begin();
        let missing = cell.count_hold(ticks).err().and_then(|rest| cell.make_up(ticks, rest));
        self.supply(thread, cell, (histogram_kind::HOLD, ticks), missing);
    }

    fn ledger(&self) -> Ledger {
        // SAFETY: the leaked buffer; nobody writes meanwhile.
        let bytes = unsafe { std::slice::from_raw_parts(self.base, self.len) }.to_vec();
        Ledger::from_bytes(bytes).unwrap()
    }
}

/// Counts of a site's histogram by bucket.
fn counts(ledger: &Ledger, site: u32, kind: u16) -> HashMap<usize, u64> {
    let mut counts = HashMap::new();
    for (id, bucket) in ledger.rows::<Bucket>() {
        if (bucket.site, bucket.kind) != (site, kind) {
            continue;
        }
        let first = bucket.run as usize * 32;
        for (i, &count) in bucket.counts.iter().enumerate().filter(|(_, count)| **count != 0) {
            *counts.entry(first + i).or_default() += u64::from(count);
        }
        for (_, carry) in ledger.rows::<Carry>().filter(|(_, carry)| carry.bucket == id) {
            *counts.entry(first + carry.index as usize).or_default() +=
                u64::from(carry.times) << 16;
        }
    }
    counts
}

#[test]
fn every_hold_is_in_the_sums_and_in_the_histogram() {
    let mut host = Host::new(400);
    let thread = host.thread();
    let cell = host.cell(thread, 7);
    let mut expected = HashMap::new();
    let mut sum = 0;
    // Over all octaves, so that the places of the last-used buckets are fought for; and one value
    // often enough for its count to wrap.
    let spread = (0..5000u64).map(|i| i * i * i * 7919 % (1 << (8 + i % 40)));
    for ticks in spread.chain((0..200_000).map(|_| 99)) {
        host.held(thread, cell, ticks);
        *expected.entry(histogram::bucket(ticks)).or_insert(0) += 1;
        sum += ticks;
    }
    let ledger = host.ledger();
    let row = ledger.get::<Cell>(1).unwrap();
    assert_eq!((row.acquisitions, row.holds, row.hold_ticks), (205_000, 205_000, sum));
    assert_eq!(counts(&ledger, row.site, histogram_kind::HOLD), expected);
    assert_eq!(ledger.get::<Meter>(1).unwrap().lost, 0);
}

/// 64 threads with 1,000 call sites each, and times that are spread over some seven octaves: what
/// is stored is bounded, and every count is in its bucket.
#[test]
fn many_cells_share_their_buckets() {
    const THREADS: usize = 64;
    const SITES: u64 = 1000;
    const ROUNDS: usize = 30;
    let mut host = Host::new((96 << 20) / PAGE);
    let mut threads: Vec<_> = (0..THREADS).map(|_| host.thread()).collect();
    let mut expected = vec![[0u64; 32 * RUN]; SITES as usize];
    let mut random = 0x9e37_79b9_7f4a_7c15u64;
    for _ in 0..ROUNDS {
        for thread in &mut threads {
            for site in 1..=SITES {
                // xorshift64 (Marsaglia).
                random ^= random << 13;
                random ^= random >> 7;
                random ^= random << 17;
                let octave = 6 + (random & 0x3ff).count_ones();
                let ticks = 1 << octave | random >> 16 & ((1 << octave) - 1);
                let cell = host.cell(thread, site);
                host.held(thread, cell, ticks);
                expected[site as usize - 1][histogram::bucket(ticks)] += 1;
            }
        }
    }
    let mib = STORED.get() as f64 / f64::from(1 << 20);
    assert!(mib <= 20.0, "{mib:.1} MiB");
    let ledger = host.ledger();
    let mut found = vec![[0; 32 * RUN]; SITES as usize];
    for (_, bucket) in ledger.rows::<Bucket>() {
        let site = ledger.get::<Site>(bucket.site).unwrap().site as usize;
        let first = bucket.run as usize * RUN;
        for (sum, count) in found[site - 1][first..].iter_mut().zip(bucket.counts) {
            *sum += u64::from(count);
        }
    }
    for (site, (found, expected)) in found.iter().zip(&expected).enumerate() {
        assert_eq!(found, expected, "site {}", site + 1);
    }
    assert!(ledger.rows::<Site>().all(|(_, site)| site.cells == THREADS as u32));
}

#[test]
fn a_shared_count_that_wraps_is_carried_and_patience_ends() {
    let mut host = Host::new((32 << 20) / PAGE);
    let (first, second) = (host.thread(), host.thread());
    // So many that it takes 65,535 counts to have one more.
    for site in 1..=600 {
        let cell = host.cell(first, site);
        (0..RUNS).for_each(|run| host.held(first, cell, histogram::bounds(run * RUN).0));
    }
    let one = host.cell(first, 1000);
    let other = host.cell(second, 1000);
    for _ in 0..50_000 {
        host.held(first, one, 99);
        host.held(second, other, 99);
    }
    let ledger = host.ledger();
    let site = other.site();
    let rows = |ledger: &Ledger| ledger.rows::<Bucket>().filter(|(_, b)| b.site == site).count();
    assert_eq!(rows(&ledger), 1, "they share it");
    let expected = |count| HashMap::from([(histogram::bucket(99), count)]);
    assert_eq!(counts(&ledger, site, histogram_kind::HOLD), expected(100_000));
    for _ in 0..50_000 {
        host.held(second, other, 99);
    }
    let ledger = host.ledger();
    assert_eq!(rows(&ledger), 2, "now it has its own");
    assert_eq!(counts(&ledger, site, histogram_kind::HOLD), expected(150_000));
}

#[test]
fn sites_are_as_many_as_there_are() {
    let mut host = Host::new(8000);
    let thread = host.thread();
    for round in 0..3 {
        for site in 1..=10_000 {
            let cell = host.cell(thread, site * 16);
            host.held(thread, cell, round);
        }
    }
    let ledger = host.ledger();
    assert_eq!(ledger.rows::<Site>().count(), 10_000);
    assert!(ledger.rows::<Cell>().all(|(_, cell)| cell.acquisitions == 3));
}

#[test]
fn cells_outlive_threads_and_are_used_again() {
    let mut host = Host::new(400);
    for i in 0..100_000 {
        let thread = host.thread();
        let cell = host.cell(thread, 1 + i % 3);
        host.held(thread, cell, i);
        host.ends(thread);
    }
    let ledger = host.ledger();
    let threads: Vec<_> = ledger.rows::<Meter>().map(|(_, meter)| meter.threads).collect();
    assert_eq!(threads, [100_000]);
    let acquisitions: u64 = ledger.rows::<Cell>().map(|(_, cell)| cell.acquisitions).sum();
    assert_eq!(acquisitions, 100_000);
    assert!(ledger.header().used < 1 << 20, "{} bytes", ledger.header().used);
}

#[test]
fn cells_name_their_meter_which_says_how_long_its_threads_lived() {
    let mut host = Host::new(40);
    let start = |host: &mut Host, now| {
        let thread = host.meter.thread_start(host.core.writer(), 1, now).unwrap();
        // SAFETY: a row of the leaked ledger; the test uses one reference at a time.
        unsafe { &mut *thread }
    };
    let end = |host: &mut Host, thread: &mut MeterThread, now| {
        // SAFETY: the test does not use it again.
        unsafe { host.meter.thread_exit(thread, now) };
    };
    let (first, second) = (start(&mut host, 100), start(&mut host, 200));
    for thread in [&mut *first, &mut *second] {
        let cell = host.cell(thread, 16);
        host.held(thread, cell, 1);
    }
    end(&mut host, first, 150);
    let third = start(&mut host, 300);
    let cell = host.cell(third, 16);
    host.held(third, cell, 1);
    let ledger = host.ledger();
    let cells: Vec<_> =
        ledger.rows::<Cell>().map(|(_, cell)| (cell.state, cell.acquisitions)).collect();
    assert_eq!(cells, [(1, 2), (2, 1)], "the third goes on where the first counted");
    let meters: Vec<_> =
        ledger.rows::<Meter>().map(|(id, meter)| (id, meter.born, meter.lived)).collect();
    assert_eq!(meters, [(1, 300, 50), (2, 200, 0)]);
}

#[test]
fn held_locks_are_as_many_as_there_are_and_come_off_in_any_order() {
    let mut host = Host::new(4000);
    let thread = host.thread();
    let cell = host.cell(thread, 1);
    for addr in 1..=20_000u64 {
        if !thread.has_room() {
            assert!(host.meter.grow_held(host.core.writer(), thread));
        }
        thread.acquired(addr * 8, cell, addr);
    }
    assert!(thread.innermost(8).is_none() && thread.innermost(160_000).is_some());
    for addr in (1..=20_000u64).filter(|addr| addr % 3 != 0) {
        assert_eq!(Ending::of(&thread.entry_of(addr * 8).unwrap()).unwrap().since, addr);
        thread.remove(addr * 8);
    }
    let left: Vec<_> = thread.held().map(|held| held.addr / 8).filter(|&addr| addr != 0).collect();
    assert!(left.iter().all(|addr| addr % 3 == 0) && left.len() == 20_000 / 3);
    for addr in left.iter().rev() {
        thread.remove(addr * 8);
    }
    assert!(thread.is_idle());
}

#[test]
fn a_full_ledger_is_counted_not_fatal() {
    let mut host = Host::new(40);
    let thread = host.thread();
    let mut lost = 0;
    for site in 1..5000 {
        let call = Call { class: 1, site, ..Call::default() };
        let mut capture = |_: &mut [u64]| 0;
        let key = key(1 << 32, 0, site);
        let cell = host.meter.cell(&mut host.core, thread, key, &call, &mut capture);
        lost += u64::from(cell.is_none());
    }
    assert!(lost > 1000);
    assert_eq!(host.ledger().get::<Meter>(1).unwrap().lost, lost);
}

/// A host for boards.
struct Street {
    host: Host,
    boards: Box<Boards>,
}

impl Street {
    fn new() -> Self {
        Self { host: Host::new(400), boards: Box::new(Boards::new()) }
    }

    fn enter(&mut self, addr: u64, now: u64) -> Place {
        if let Some(place) = self.boards.enter(addr, now) {
            return place;
        }
        let board = self.host.meter.new_board(self.host.core.writer()).unwrap();
        // SAFETY: `new_board` just made this row, so it is zero, mapped and in no list yet.
        unsafe { self.boards.add(addr, now, board) }
    }

    fn charge(&self, addr: u64, site: u32, since: u64, now: u64) {
        if self.boards.is_waited_for(addr) {
            self.boards.charge(&Hold { addr, site, since, now, shared: false, tid: 1 });
        }
    }
}

fn parts(shares: &Shares) -> Vec<(u32, u64)> {
    let mut parts: Vec<_> = shares.all().iter().map(|share| (share.site, share.ticks)).collect();
    parts.sort_unstable();
    parts
}

#[test]
fn a_wait_is_charged_to_every_holder_in_turn() {
    let mut street = Street::new();
    // Site 1 holds the lock since 50 when we come at 100.
    let place = street.enter(8, 100);
    street.charge(8, 1, 50, 140);
    street.charge(8, 2, 145, 200);
    street.charge(8, 1, 200, 230);
    // Others' locks are none of ours.
    street.charge(16, 3, 100, 240);
    let mut shares = street.boards.leave(&place, None);
    shares.settle(240 - 100);
    assert_eq!(parts(&shares), [(0, 15), (1, 70), (2, 55)]);
    assert!(!street.boards.is_waited_for(8));
}

#[test]
fn who_comes_later_is_charged_for_its_own_part() {
    let mut street = Street::new();
    let first = street.enter(8, 100);
    let second = street.enter(8, 150);
    // Site 1 has had it since 20, and lets it go at 180.
    street.charge(8, 1, 20, 180);
    let mut shares = street.boards.leave(&first, None);
    shares.settle(80);
    assert_eq!(parts(&shares), [(1, 80)]);
    // The first, at site 2, has it until 300, and the second gets it.
    street.charge(8, 2, 180, 300);
    let mut shares = street.boards.leave(&second, None);
    shares.settle(150);
    assert_eq!(parts(&shares), [(1, 30), (2, 120)]);
}

#[test]
fn who_waits_for_very_many_needs_to_know_whom_it_found() {
    let mut street = Street::new();
    let first = street.enter(8, 100);
    let second = street.enter(8, 150);
    street.charge(8, 1, 20, 180);
    for i in 0..30 {
        street.charge(8, 2, 180 + 10 * i, 190 + 10 * i);
    }
    // The first came when nobody's hold was on the clock yet.
    let mut shares = street.boards.leave(&first, None);
    shares.settle(380);
    assert_eq!(parts(&shares), [(1, 80), (2, 300)]);
    let mut shares = street.boards.leave(&second, Some((1, 20)));
    shares.settle(330);
    assert_eq!(parts(&shares), [(1, 30), (2, 300)]);
}

#[test]
fn a_waiter_has_a_board_while_another_thread_is_stopped_at_the_first() {
    let mut street = Street::new();
    assert!(street.boards.enter(8, 100).is_none(), "there is no board yet");
    let stuck = street.host.meter.new_board(street.host.core.writer()).unwrap();
    // SAFETY: `new_board` just made this row, so it is zero, mapped and in no list yet.
    let first = unsafe { street.boards.add(8, 100, stuck) };
    // SAFETY: the row stays mapped, and no other thread has it.
    unsafe { (*stuck).busy = 1 };
    let second = street.enter(8, 150);
    street.charge(8, 1, 50, 400);
    let mut shares = street.boards.leave(&second, None);
    shares.settle(250);
    assert_eq!(shares.all(), [Share { site: 1, ticks: 250 }]);

    // SAFETY: the row stays mapped, and no other thread runs in this test.
    unsafe { (*stuck).busy = 0 };
    let mut shares = street.boards.leave(&first, None);
    shares.settle(300);
    assert_eq!(shares.all(), [Share { site: 0, ticks: 300 }], "it went without");
    assert!(!street.boards.is_waited_for(8));
}

#[test]
fn a_board_is_used_again_for_another_lock() {
    let mut street = Street::new();
    for i in 0..10_000u64 {
        let addr = 8 * (1 + i % 500);
        let place = street.enter(addr, i * 100);
        street.charge(addr, i as u32 + 1, i * 100, i * 100 + 60);
        let mut shares = street.boards.leave(&place, None);
        shares.settle(60);
        assert_eq!(parts(&shares), [(i as u32 + 1, 60)]);
    }
    let boards = street.host.ledger().rows::<Board>().count();
    assert!(boards <= 500, "{boards} boards for 500 locks waited for one at a time");
}

#[test]
fn more_holders_than_a_board_tells_apart_are_summed_up() {
    let mut street = Street::new();
    let place = street.enter(8, 0);
    for site in 1..=40 {
        street.charge(8, site, u64::from(site - 1) * 10, u64::from(site) * 10);
    }
    let mut shares = street.boards.leave(&place, None);
    shares.settle(400);
    let parts = parts(&shares);
    assert_eq!(parts.iter().map(|part| part.1).sum::<u64>(), 400);
    assert_eq!(parts[0], (0, 160), "16 of 40 are not told apart");
}

#[test]
fn readers_that_hold_at_once_share_the_wait() {
    let mut street = Street::new();
    let place = street.enter(8, 0);
    for site in 1..=4 {
        street.boards.charge(&Hold { addr: 8, site, since: 0, now: 100, shared: true, tid: 1 });
    }
    let mut shares = street.boards.leave(&place, None);
    shares.settle(100);
    assert_eq!(parts(&shares), [(1, 25), (2, 25), (3, 25), (4, 25)]);
}

#[test]
fn waits_and_their_blame_come_back() {
    let mut host = Host::new(400);
    let thread = host.thread();
    host.meter.pending_memory(host.core.writer(), thread);
    let cell = host.cell(thread, 1);
    cell.begin();
    assert!(thread.can_keep());
    thread.acquired(8, cell, 10);
    thread.keep(&Pending {
        cell: Some(cell),
        ended: 700,
        ticks: 500,
        spun: 20,
        shares: Shares::NONE,
        what: For::default(),
    });
    assert!(thread.innermost(8).is_none(), "its release has more to do");
    let (held, mut kept) = (thread.entry_of(8).unwrap(), None);
    thread.record_kept(&held, |_, wait| kept = Some(*wait));
    let kept = kept.unwrap();
    let missing = cell.record_wait(kept.ticks, kept.spun);
    host.supply(thread, cell, (histogram_kind::WAIT, kept.ticks), missing);
    for _ in 0..3 {
        if !cell.blame(blame_kind::HOLDER, 9, 100) {
            host.meter.new_blame(host.core.writer(), thread, cell, blame_kind::HOLDER, 9, 100);
        }
    }
    let ledger = host.ledger();
    let row = ledger.get::<Cell>(1).unwrap();
    assert_eq!((row.contended, row.wait_ticks, row.wait_max, row.spin_ticks), (1, 500, 500, 20));
    assert_eq!(
        counts(&ledger, row.site, histogram_kind::WAIT),
        [(histogram::bucket(500), 1)].into()
    );
    let blame = ledger.get::<Blame>(row.blame).unwrap();
    assert_eq!((blame.other, blame.count, blame.ticks, blame.next), (9, 3, 300, 0));
    assert_eq!(ledger.get::<Site>(row.site).unwrap().wait, wait_kind::LOCK);
}

#[test]
fn who_waited_had_the_lock_since_then_though_the_hold_is_not_timed() {
    let mut host = Host::new(400);
    let thread = host.thread();
    host.meter.pending_memory(host.core.writer(), thread);
    let cell = host.cell(thread, 1);
    thread.acquired(8, cell, 0);
    let since = |thread: &MeterThread| thread.had_since(&thread.entry_of(8).unwrap());
    assert_eq!(since(thread), 0, "nobody knows");
    thread.keep(&Pending {
        cell: Some(cell),
        ended: 700,
        ticks: 500,
        spun: 0,
        shares: Shares::NONE,
        what: For::default(),
    });
    assert_eq!(since(thread), 700);
    // SAFETY: `thread` is a live thread's row in the mapped ledger.
    let seen = unsafe { MeterThread::find_foreign(thread, 8) };
    assert_eq!(seen, Some((cell.site(), 700)));
}

#[test]
fn one_hold_in_so_many_is_timed_on_average() {
    let mut host = Host::new(100);
    let thread = host.thread();
    for sample in [2, 16, 100] {
        let timed = (0..1_000_000).filter(|_| thread.is_timed(sample)).count() as f64;
        let expected = 1e6 / f64::from(sample);
        assert!((timed / expected - 1.0).abs() < 0.05, "1 in {sample}: {timed}");
    }
    assert_eq!((0..1000).filter(|_| thread.is_timed(1)).count(), 1000);
    let thread = host.thread();
    assert_eq!((0..1_000_000).filter(|_| thread.is_timed(0)).count(), 0);
}

#[test]
fn readers_overlap_in_busy_periods() {
    let mut host = Host::new(100);
    let row = host.meter.readers(host.core.writer(), 1, 5).unwrap();
    // SAFETY: a row of the leaked ledger.
    let (readers, wrong) = unsafe { (ReadersRef::at(row, 5).unwrap(), ReadersRef::at(row, 6)) };
    assert!(wrong.is_none());
    let seen = |host: &Host| {
        let row = host.ledger().get::<Readers>(1).unwrap();
        (readers_word::now(row.now_since), row.max, row.periods, row.ticks, row.max_ticks)
    };
    assert_eq!(readers.comes(100), 1);
    assert_eq!(readers.comes(110), 2);
    readers.goes(|| 120);
    assert_eq!(readers.comes(130), 2);
    readers.goes(|| 140);
    assert_eq!(seen(&host), (1, 2, 0, 0, 0));
    readers.goes(|| 152);
    assert_eq!(readers.comes(200), 1);
    readers.goes(|| 204);
    assert_eq!(seen(&host), (0, 2, 2, 56, 52));
    // A period whose first hold is not timed is not, nor what the next has to do with it.
    readers.comes(0);
    readers.comes(300);
    readers.goes(|| unreachable!("nobody needs the time"));
    readers.goes(|| unreachable!("nobody needs the time"));
    readers.comes(400);
    // The clock of the processor where it leaves lags by some ticks.
    readers.goes(|| 392);
    assert_eq!(seen(&host), (0, 2, 3, 56, 52));
}

#[test]
fn a_reader_that_nobody_saw_come_is_not_counted_off() {
    let mut host = Host::new(100);
    let row = host.meter.readers(host.core.writer(), 1, 5).unwrap();
    // SAFETY: a row of the leaked ledger.
    let readers = unsafe { ReadersRef::at(row, 5).unwrap() };
    readers.goes(|| 50);
    assert_eq!(readers.comes(100), 1);
    readers.goes(|| 140);
    readers.goes(|| 150);
    let row = host.ledger().get::<Readers>(1).unwrap();
    assert_eq!(readers_word::now(row.now_since), 0);
    assert_eq!((row.max, row.periods, row.ticks), (1, 1, 40));
}

#[test]
fn readers_on_many_threads_are_as_many_and_as_long_as_they_were() {
    let mut host = Host::new(100);
    let row = host.meter.readers(host.core.writer(), 1, 5).unwrap();
    // SAFETY: a row of the leaked ledger.
    let readers = unsafe { ReadersRef::at(row, 5).unwrap() };
    let (clock, most) = (AtomicU64::new(1000), AtomicU32::new(0));
    let (clock, most) = (&clock, &most);
    let tick = || clock.fetch_add(4, Relaxed);
    let at = row as usize;
    std::thread::scope(|scope| {
        let reads = || {
            // SAFETY: a row of the leaked ledger.
            let readers = unsafe { ReadersRef::at(at as *mut Readers, 5).unwrap() };
            for _ in 0..20_000 {
                most.fetch_max(readers.comes(tick()), Relaxed);
                readers.goes(tick);
            }
        };
        // Joined by hand: ThreadSanitizer does not see that the scope waits for them.
        let threads = [(); 4].map(|()| scope.spawn(reads));
        threads.into_iter().for_each(|thread| thread.join().expect("it reads"));
    });
    let row = host.ledger().get::<Readers>(1).unwrap();
    assert_eq!(readers_word::now(row.now_since), 0);
    assert_eq!(row.max, most.load(Relaxed));
    assert!((1..=4).contains(&row.max));
    assert!((1..=80_000).contains(&row.periods), "{}", row.periods);
    assert!(row.max_ticks <= row.ticks && row.max_ticks < clock.load(Relaxed), "{}", row.ticks);
    assert_eq!(readers.comes(0), 1);
}

/// However many call sites came before, the newest is where the fast path looks, and none is lost.
#[test]
fn the_newest_call_site_is_found_at_once() {
    let mut host = Host::new(400);
    let thread = host.thread();
    let key_of = |site| key(1 << 32, 0, site);
    for site in 1..=500 {
        let cell = host.cell(thread, site);
        assert!(thread.known(key_of(site)).is_some_and(|it| it.site() == cell.site()), "{site}");
    }
    let found = (1..=500).filter_map(|site| thread.find(key_of(site)).map(|cell| cell.site()));
    let sites: HashSet<u32> = found.collect();
    assert_eq!(sites.len(), 500);
}
