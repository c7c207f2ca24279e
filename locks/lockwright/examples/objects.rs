//! Objects that tell lockwright of their lives: timers, made and armed in Rust.
//!
//!     cargo build --example objects
//!     lockwright check -- target/debug/examples/objects gone
//!
//! `gone`: one is dropped that is armed yet. `destroyed`: one is armed that was destroyed.
//! `repaired`: one in memory that goes is stopped by its type's fixup. `results`: what activations
//! say, which goes to stdout. `clean`: all is well.

use std::ffi::c_void;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use lockwright::objects::{self, Descr, State, Tracked};

/// Something that rings later.
struct Timer {
    interval_ms: AtomicU32,
}

static TIMER: Descr = Descr::new(c"timer");
static CAREFUL: Descr =
    Descr::new(c"careful timer").fixup_activate(restart).fixup_free(stop).must_destroy();

/// Fixups that were called.
static FIXUPS: AtomicU32 = AtomicU32::new(0);

extern "C" fn restart(timer: *mut c_void, state: State) -> bool {
    FIXUPS.fetch_add(1, Relaxed);
    match state {
        State::ACTIVE => objects::deactivate(timer, &CAREFUL),
        _ => objects::init(timer, &CAREFUL),
    }
    objects::activate(timer, &CAREFUL)
}

extern "C" fn stop(timer: *mut c_void, state: State) -> bool {
    FIXUPS.fetch_add(1, Relaxed);
    objects::deactivate(timer, &CAREFUL);
    objects::free(timer, &CAREFUL);
    state == State::ACTIVE
}

fn timer(descr: &'static Descr) -> Tracked<Timer> {
    Tracked::new(descr, Timer { interval_ms: AtomicU32::new(50) })
}

#[inline(never)]
fn arm(timer: &Tracked<Timer>, interval_ms: u32) -> bool {
    timer.interval_ms.store(interval_ms, Relaxed);
    timer.activate()
}

#[inline(never)]
fn forget(timer: Tracked<Timer>) {
    drop(timer);
}

fn main() {
    let what = std::env::args().nth(1).unwrap_or_default();
    match what.as_str() {
        "clean" => {
            let timer = timer(&TIMER);
            for interval_ms in [10, 20] {
                arm(&timer, interval_ms);
                timer.active_state(0, 1);
                timer.active_state(1, 0);
                timer.deactivate();
            }
            timer.destroy();
            forget(timer);
        }
        "gone" => {
            let timer = timer(&TIMER);
            arm(&timer, 10);
            forget(timer);
        }
        "destroyed" => {
            let timer = timer(&TIMER);
            timer.destroy();
            arm(&timer, 10);
        }
        "repaired" => {
            let block = vec![0u8; 64];
            objects::init(block.as_ptr(), &CAREFUL);
            objects::activate(block.as_ptr(), &CAREFUL);
            drop(block);
        }
        "results" => {
            let (careless, careful) = (timer(&TIMER), timer(&CAREFUL));
            let results = [&careless, &careful].map(|timer| (arm(timer, 10), arm(timer, 10)));
            [careless, careful].iter().for_each(|timer| timer.deactivate());
            println!("{results:?}, {} fixups", FIXUPS.load(Relaxed));
        }
        _ => {
            println!("clean, gone, destroyed, repaired or results?");
            return;
        }
    }
    println!("{what}: done");
}
