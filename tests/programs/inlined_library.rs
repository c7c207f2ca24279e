//! A library with inlined locks of its own, which is loaded while threads run.

use std::sync::Mutex;

static TABLE: Mutex<u64> = Mutex::new(0);
static INDEX: Mutex<u64> = Mutex::new(0);

#[inline(never)]
fn forward() {
    let mut table = TABLE.lock().unwrap();
    *INDEX.lock().unwrap() += 1;
    *table += 1;
}

#[inline(never)]
fn backward() {
    let mut index = INDEX.lock().unwrap();
    *TABLE.lock().unwrap() += 1;
    *index += 1;
}

/// Takes both locks in one order or the other.
#[unsafe(no_mangle)]
pub extern "C" fn nest(is_backward: bool) {
    if is_backward { backward() } else { forward() }
}
