//! Another library stands before the same functions, and goes on to the C library by their other
//! names.

use crate::ELISION;
use crate::family::Family;
use crate::harness;

#[test]
fn another_library_goes_on_by_other_names() {
    let library = harness::build("alias_preload.c", &["-shared", "-fPIC"]);
    let library: &'static str = Box::leak(library.to_str().expect("a path").to_owned().into());
    for family in ["mutex", "rwlock"] {
        Family::build(family).conforms(&[("LD_PRELOAD", library), ELISION]);
    }
}
