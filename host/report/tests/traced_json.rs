//! The documents of `meter --kernel`, `--pid` and `--system` follow their published schemas.

mod schema;

use std::rc::Rc;

use lockwright_analysis::attached::WaitKind;
use lockwright_analysis::finding::{Frame, Name};
use lockwright_analysis::lockmeter::model::MeterReport;
use lockwright_analysis::traced::futexes::{FutexLock, StillWaiting};
use lockwright_analysis::traced::kernel::{KernelKind, KernelLock, KernelSite, Owner, Waiter};
use lockwright_analysis::traced::{FutexReport, KernelReport, Lost, Waits, every_wait};
use lockwright_report::traced::{render_every_wait_json, render_futexes_json, render_kernel_json};
use schema::{errors, load};
use serde_json::{Value, json};

const WAITS: Waits = Waits { count: 2, total_ns: 700, max_ns: 400 };

const LOST: Lost =
    Lost { rows: 1, rows_ns: 9, begins: 1, stacks: 1, unmatched: 1, missed: 1, waitv: 1 };

fn kernel() -> KernelReport {
    let site = |kind| KernelSite { stack: vec!["futex_wait+0x1f".into()], kind, waits: WAITS };
    let waiter = Waiter { tid: 8, pid: 7, name: "worker".into(), waits: WAITS };
    let lock = KernelLock {
        name: "mm->mmap_lock".into(),
        is_named: true,
        addresses: vec![(0xffff_8881_28dd_4bb8, WAITS)],
        waits: WAITS,
        sites: vec![site(KernelKind::RwsemRead), site(KernelKind::RtMutex)],
        waiters: vec![waiter.clone()],
        owners: vec![Owner {
            tid: 8,
            pid: 7,
            name: "owner".into(),
            is_reader: false,
            waits: WAITS,
        }],
    };
    KernelReport {
        elapsed_ns: 1000,
        cpus: 2,
        locks: vec![lock],
        waiters: vec![waiter],
        waits: 3,
        waited_ns: 709,
        has_symbols: true,
        lost: LOST,
    }
}

fn futexes() -> FutexReport {
    let stack: Rc<[Frame]> =
        [Frame { function: Some("lock".into()), line: Some(3), ..Frame::default() }].into();
    let lock = |kind, name| FutexLock {
        pid: 7,
        kind,
        addresses: vec![0x10],
        is_by_function: false,
        is_woken_by_owner: true,
        name,
        waits: WAITS,
        timed_out: 1,
        refused: 1,
        before: 1,
        ended: 1,
        sites: vec![(stack.clone(), WAITS)],
        wakers: vec![(stack.clone(), WAITS)],
    };
    FutexReport {
        elapsed_ns: 1000,
        processes: vec![(7, "server".into())],
        locks: vec![lock(WaitKind::Lock("Rust Mutex"), Some(Name::symbol("queue")))],
        others: vec![lock(WaitKind::Idle("Go"), None)],
        wakes: (3, 2),
        waiting: vec![StillWaiting {
            pid: 7,
            tid: 9,
            kind: WaitKind::Unknown,
            address: 0x20,
            name: None,
            stack: stack.clone(),
            for_ns: 5,
            is_older: true,
        }],
        lost: LOST,
    }
}

fn parse(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

fn fits(name: &str, document: &Value) {
    let schema = load(name);
    assert_eq!(errors(&schema, &schema, document, ""), Vec::<String>::new(), "{name}");
}

#[test]
fn documents_fit_their_schemas() {
    fits("kernel.schema.json", &parse(&render_kernel_json(&kernel())));
    fits("futexes.schema.json", &parse(&render_futexes_json(&futexes())));
}

#[test]
fn a_programs_document_has_the_kernels_locks_as_its_schema_says() {
    let (measured, futexes, kernel) = (MeterReport::default(), futexes(), kernel());
    let waits = every_wait(&measured, &futexes, &kernel);
    let document = parse(&render_every_wait_json(&measured, &waits, &kernel));
    assert_eq!(document["every_wait"].as_array().map(Vec::len), Some(2));
    assert_eq!(document["every_wait"][0]["what"], "Rust Mutex `queue`");
    fits("meter.schema.json", &document);
}

/// A schema cannot refer to another file here, so what two have in common is in both.
#[test]
fn what_schemas_have_in_common_they_say_alike() {
    let [kernel, futexes, meter] =
        ["kernel", "futexes", "meter"].map(|name| load(&format!("{name}.schema.json")));
    for (one, other) in [(&kernel, &futexes), (&kernel, &meter), (&futexes, &meter)] {
        let common = one["$defs"].as_object().unwrap().iter();
        let common =
            common.filter_map(|(name, what)| Some((name, what, other["$defs"].get(name)?)));
        let mut number = 0;
        // `site` is another thing in each.
        for (name, what, other) in common.filter(|(name, ..)| *name != "site") {
            assert_eq!(what, other, "{name}");
            number += 1;
        }
        assert!(number >= 3, "{number}");
    }
    let (own, part) = (&kernel["properties"], &meter["properties"]["kernel"]["properties"]);
    for (name, what) in part.as_object().unwrap() {
        assert_eq!(&own[name], what, "{name}");
    }
}

/// A schema that fits everything says nothing.
#[test]
fn the_schemas_can_be_broken() {
    let document = parse(&render_kernel_json(&kernel()));
    let broken = |name: &str, document: &Value, place: &str, wrong: &Value| {
        let (schema, mut document) = (load(name), document.clone());
        *document.pointer_mut(place).unwrap() = wrong.clone();
        assert!(!errors(&schema, &schema, &document, "").is_empty(), "{place}");
    };
    for (place, wrong) in [
        ("/schema", json!("lockwright-futexes")),
        ("/version", json!(2)),
        ("/locks/0/sites/0/kind", json!("rwsem")),
        ("/locks/0/addresses/0/1", json!({ "count": 1 })),
        ("/locks/0/waiters/0/waits/count", json!(-1)),
        ("/locks/0/owners/0/is_reader", json!(1)),
        ("/lost/notes", json!("none")),
        ("/has_symbols", Value::Null),
    ] {
        broken("kernel.schema.json", &document, place, &wrong);
    }
    let document = parse(&render_futexes_json(&futexes()));
    for (place, wrong) in [
        ("/schema", json!("lockwright-kernel")),
        ("/locks/0/kind", json!("spinlock")),
        ("/locks/0/lock", json!(7)),
        ("/locks/0/sites/0/stack/0/line", json!(0)),
        ("/locks/0/began_before", json!("1")),
        ("/locks/0/wakers_are_owners", json!(1)),
        ("/waiting/0/for_ns", Value::Null),
        ("/processes/0/pid", json!("7")),
    ] {
        broken("futexes.schema.json", &document, place, &wrong);
    }
}
