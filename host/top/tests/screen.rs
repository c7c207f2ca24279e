//! The board on terminals of all sizes, without a terminal.

use std::time::Duration;

use lockwright_report::live::{
    Advice, Blame, Finding, Held, Lock, Moment, Place, Process, Rates, Site, Thread, Totals, Wait,
};
use lockwright_top::ratatui::Terminal;
use lockwright_top::ratatui::backend::TestBackend;
use lockwright_top::{Board, Key, Wish, draw, snapshot};

fn lock(id: &str, waiting: f64, acquisitions: u64) -> Lock {
    let totals = Totals { acquisitions, contended: 1, wait_ns: waiting * 1e9, ..Totals::default() };
    let rates = Rates { acquisitions: acquisitions as f64, waiting, ..Rates::default() };
    let place = Place {
        text: format!("take_{id} (a.c:1)"),
        source: "lock(&m);".into(),
        callers: vec!["called from main (a.c:9)".into()],
    };
    Lock {
        id: id.into(),
        name: format!("lock_{id}"),
        kind: "mutex".into(),
        locks: 1,
        totals,
        rates: Some(rates),
        sites: vec![Site { place, totals, rates: Some(rates), ..Site::default() }],
        blame: vec![Blame { waiter: 0, holder: Some(0), count: 3, ns: 5e6 }, Blame::default()],
        wakers: vec![Site { how: "released".into(), ..Site::default() }],
    }
}

fn moment() -> Moment {
    let held = |id: &str| Held { lock: id.into(), name: format!("lock_{id}"), ..Held::default() };
    let wait = |id: &str, holder| Wait {
        what: format!("waits for `lock_{id}`"),
        lock: id.into(),
        is_for_thread: true,
        for_ns: Some(2e9),
        holders: vec![holder],
        ..Wait::default()
    };
    let thread = |tid, holds: &str, wants: &str, holder| Thread {
        pid: 1,
        tid,
        name: format!("worker{tid}"),
        held: vec![held(holds)],
        wait: Some(wait(wants, holder)),
        is_deadlocked: true,
        ..Thread::default()
    };
    Moment {
        interval_ns: 1_000_000_000,
        is_measured: true,
        is_checked: true,
        processes: vec![Process { pid: 1, runs: true, ..Process::default() }],
        locks: vec![lock("a", 0.0, 5_000_000), lock("b", 1.5, 12)],
        threads: vec![thread(11, "a", "b", 12), thread(12, "b", "a", 11)],
        findings: vec![Finding {
            kind: "circular-dependency".into(),
            grade: "deadlocked".into(),
            is_error: true,
            title: "two threads wait for each other".into(),
            text: (0..80).map(|n| format!("line {n}")).collect(),
            ..Finding::default()
        }],
        advice: vec![Advice { lock: "b".into(), text: "hold it less".into(), ..Advice::default() }],
        notes: vec!["a note".into()],
        ..Moment::default()
    }
}

fn board() -> Board {
    let mut board = Board::new("a program", Duration::from_secs(1), true);
    board.show(moment());
    board
}

fn shown(board: &mut Board, columns: u16, rows: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(columns, rows)).unwrap();
    terminal.draw(|frame| draw(frame, board)).unwrap();
    terminal.backend().to_string()
}

fn press(board: &mut Board, keys: &[Key]) -> String {
    keys.iter().for_each(|&key| assert_eq!(board.press(key), Wish::Draw));
    shown(board, 170, 40)
}

/// The places of texts on the screen, which all are there.
fn places<const N: usize>(screen: &str, texts: [&str; N]) -> [usize; N] {
    texts.map(|text| screen.find(text).unwrap_or_else(|| panic!("{text} in {screen}")))
}

#[test]
fn locks_are_sorted_by_what_the_user_wants() {
    let mut board = board();
    let [b, a] = places(&shown(&mut board, 120, 40), ["lock_b", "lock_a"]);
    assert!(b < a, "the one that is waited for comes first");
    let screen = press(&mut board, &[Key::Char('<'), Key::Char('<')]);
    let [a, b, _] = places(&screen, ["lock_a", "lock_b", "sorted by acquisitions"]);
    assert!(a < b);
    let [a, b] = places(&press(&mut board, &[Key::Char('I')]), ["lock_a", "lock_b"]);
    assert!(b < a, "turned round");
    let screen = press(&mut board, &[Key::Char('a')]);
    places(&screen, ["acquired", "waited", "1.5s"]);
}

/// What is selected stays so, wherever its line goes.
#[test]
fn the_selection_follows_its_lock() {
    let mut board = board();
    press(&mut board, &[Key::End]);
    let mut next = moment();
    next.locks[0].rates.as_mut().unwrap().waiting = 9.0;
    board.show(next);
    let screen = press(&mut board, &[Key::Enter]);
    places(&screen, ["lock_a, mutex", "HELD NOW BY", "worker11", "take_a (a.c:1)", "> lock(&m);"]);
    places(&screen, ["called from main", "WAITS WERE FOR HOLDS BY", "nobody that is known"]);
    places(&screen, ["WAITS ENDED", "released in an unknown place: "]);
    let screen = press(&mut board, &[Key::Escape]);
    places(&screen, ["LOCK", "TREND"]);
}

#[test]
fn each_view_shows_its_part() {
    let mut board = board();
    places(
        &press(&mut board, &[Key::Char('2')]),
        ["DEADLOCKED, waits for `lock_b` of 12", "worker11"],
    );
    let screen = press(&mut board, &[Key::Enter]);
    places(&screen, ["thread 11 (worker11) of process 1", "WAIT FOR IT", "thread 12 (worker12)"]);
    places(&press(&mut board, &[Key::Enter]), ["lock_b, mutex", "hold it less"]);
    let screen = press(&mut board, &[Key::Escape, Key::Escape, Key::Tab]);
    places(&screen, ["thread 11 (worker11) again: they wait for each other"]);
    let screen = press(&mut board, &[Key::Tab]);
    places(&screen, ["error[circular-dependency] deadlocked", "advice lock_b", "note: a note"]);
    places(&press(&mut board, &[Key::Enter]), ["line 0", "line 30"]);
    places(&press(&mut board, &[Key::End]), ["line 79"]);
    places(&press(&mut board, &[Key::Char('?')]), ["KEYS", "COLUMNS"]);
    places(&press(&mut board, &[Key::Char('5')]), ["nothing: only of a program"]);
}

#[test]
fn a_filter_hides_what_does_not_have_it() {
    let mut board = board();
    let typed = [Key::Char('/'), Key::Char('K'), Key::Char('_'), Key::Char('x'), Key::Backspace];
    press(&mut board, &typed);
    let screen = press(&mut board, &[Key::Char('A')]);
    assert!(screen.contains("lock_a") && !screen.contains("lock_b"), "{screen}");
    press(&mut board, &[Key::Enter]);
    let screen = press(&mut board, &[Key::Escape]);
    places(&screen, ["lock_a", "lock_b"]);
    // A letter of a filter is no command.
    press(&mut board, &[Key::Char('/'), Key::Char('q'), Key::Escape]);
    assert_eq!(board.press(Key::Char('q')), Wish::Quit);
}

#[test]
fn a_paused_board_stands_still() {
    let mut board = board();
    press(&mut board, &[Key::Char('Z')]);
    board.show(Moment::default());
    places(&shown(&mut board, 120, 40), ["PAUSED", "lock_a"]);
    press(&mut board, &[Key::Char(' ')]);
    board.show(Moment::default());
    assert!(!shown(&mut board, 120, 40).contains("lock_a"));
    board.show(moment());
    board.end();
    places(&shown(&mut board, 120, 40), ["(ended)", "lock_a"]);
}

#[test]
fn every_size_and_every_key_can_be_drawn() {
    let keys = [
        Key::Char('2'),
        Key::Enter,
        Key::Enter,
        Key::PageDown,
        Key::Escape,
        Key::Tab,
        Key::End,
        Key::Char('4'),
        Key::Enter,
        Key::PageDown,
        Key::Home,
        Key::Char('?'),
        Key::Char('5'),
        Key::BackTab,
        Key::Char('1'),
        Key::Up,
        Key::Function(6),
        Key::Left,
        Key::Char('+'),
        Key::Char('-'),
    ];
    for (columns, rows) in [(1, 1), (2, 3), (10, 4), (33, 7), (500, 200)] {
        for first in [None, Some(moment()), Some(Moment::default())] {
            let mut board = Board::new("", Duration::from_secs(1), false);
            first.into_iter().for_each(|moment| board.show(moment));
            for key in keys {
                board.press(key);
                shown(&mut board, columns, rows);
            }
        }
    }
}

#[test]
fn a_snapshot_has_locks_waits_and_findings() {
    let text = snapshot::text("a program", &moment(), 1);
    let [head, b, more, thread, finding] = places(
        &text,
        [
            "a program: 2 threads, in the last 1.0s",
            "lock_b (mutex): take_b (a.c:1)",
            "... and 1 more (--top 0)",
            "DEADLOCKED: thread 11 (worker11) waits for `lock_b` of 12 for 2.0s; holds lock_a",
            "error[circular-dependency]: deadlocked: two threads wait for each other",
        ],
    );
    assert!(head < b && b < more && more < thread && thread < finding);
    let unmeasured = Moment { is_measured: false, ..moment() };
    assert!(!snapshot::text("", &unmeasured, 0).contains("acq/s"));
    let waits_only = Moment { counts_waits: true, ..unmeasured };
    assert!(snapshot::text("", &waits_only, 0).contains("waits/s"));
    let notes = vec!["it was not started here".to_owned()];
    let noted = Moment { notes, ..waits_only };
    assert!(!snapshot::text("", &noted, 0).contains("note: "), "once is enough");
    let first = Moment { interval_ns: 0, ..noted };
    assert!(snapshot::text("", &first, 0).ends_with("note: it was not started here\n"));
}
