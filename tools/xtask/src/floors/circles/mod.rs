//! Circles of files: files of one crate that use each other. Only all of them together can be understood, tested or moved.
//!
//! A file uses another one if its code names an item that the other one defines, by a path or an import. `mod` is no
//! use, and neither is `pub use`: the users of a re-exported item use the file that defines it. A method call names no file,
//! so it is no use either. Tests may use everything.
//!
//! `floors/circles.txt` lists the circles that may stay for now. The list can only become shorter.

mod graph;
mod list;
mod names;
mod tree;
mod uses;

use crate::workspace::{read, root};

use super::sources::Source;
use graph::Circle;
use list::LIST;

const ADVICE: &str = "To break a circle, move the items that these uses name into a file that uses none of the others, \
                      or pass them as arguments. Move an item up if only the upper file needs it.";

/// The circles of the crate in `dir`.
pub fn circles(dir: &str, sources: &[Source]) -> Vec<Circle> {
    let tree = tree::Tree::new(sources);
    let name = |file: usize| format!("{dir}/src/{}", tree.files[file]);
    graph::circles(tree.files.len(), &uses::uses(&tree), name)
}

/// Compares the circles of all crates with the list, or with LOCKWRIGHT_BLESS removes from the list what is no circle.
/// Gives what is wrong.
///
/// # Errors
/// When the list cannot be read or written.
pub fn check(found: &[Circle]) -> Result<Vec<String>, String> {
    let mut listed = list::parse(&read(root().join(LIST))?);
    if std::env::var_os("LOCKWRIGHT_BLESS").is_some() {
        listed = list::shorter(&listed, found);
        std::fs::write(root().join(LIST), list::text(&listed))
            .map_err(|e| format!("{LIST}: {e}"))?;
    }
    for circle in found {
        println!("{circle}");
    }
    if !found.is_empty() {
        println!("{ADVICE}");
    }
    Ok(list::faults(&listed, found))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn circles(sources: &[(&str, &str)]) -> Vec<Circle> {
        let source = |(path, text): &(&str, &str)| Source::new(Path::new(path), text).unwrap();
        super::circles("c", &sources.iter().map(source).collect::<Vec<_>>())
    }

    /// The files of the circles, and what is used.
    fn shown(sources: &[(&str, &str)]) -> Vec<String> {
        circles(sources).iter().map(ToString::to_string).collect()
    }

    fn assert_circle(sources: &[(&str, &str)]) {
        assert_eq!(circles(sources).len(), 1, "{sources:?}");
    }

    fn assert_none(sources: &[(&str, &str)]) {
        let shown = shown(sources);
        assert!(shown.is_empty(), "{sources:?}: {shown:?}");
    }

    const ROOT: (&str, &str) = ("lib.rs", "mod a; mod b; pub use a::A;");

    #[test]
    fn two_files_that_use_each_other_are_a_circle_with_the_uses_that_close_it() {
        let a = ("a.rs", "use crate::b::B; pub struct A(B, B);");
        let shown = shown(&[ROOT, a, ("b.rs", "pub struct B; fn f(_: crate::a::A) {}")]);
        assert_eq!(shown.len(), 1);
        assert!(shown[0].starts_with("circle of 2 files:\n  c/src/a.rs\n  c/src/b.rs\n"));
        assert!(shown[0].ends_with("c/src/a.rs uses c/src/b.rs: B"), "{}", shown[0]);
        assert_none(&[ROOT, a, ("b.rs", "pub struct B;")]);
    }

    #[test]
    fn a_use_is_found_however_it_is_written() {
        for text in [
            "use crate::a::A;",
            "use crate::{a::{self, A}};",
            "use crate::A;",
            "use super::a::A as Other;",
            "use super::*; fn f() { A::new() }",
            "use crate::a::*; fn f() -> A { g() }",
            "use crate::a; fn f(_: &mut a::A) {}",
            "fn f() { println!(\"{}\", crate::a::A) }",
            "mod inner { use super::super::a; fn f(_: *const a::A) {} }",
            "use crate::a::*; fn f(_: &'static A) {}",
            "use crate::a::*; fn f() -> &'static mut A { g() }",
            "fn f() { use crate::a::A; }",
            "fn f() { made!() }",
            "fn f() { crate::a::made_by_a_macro() }",
        ] {
            let a = "use crate::b::B; pub struct A(B); macro_rules! made { () => {} }";
            assert_circle(&[ROOT, ("a.rs", a), ("b.rs", &format!("pub struct B; {text}"))]);
        }
    }

    #[test]
    fn names_that_are_no_uses_make_no_circle() {
        for text in [
            "pub(in crate::a) struct C;",
            "#[cfg(test)] use crate::a::A; #[cfg(test)] mod tests { use crate::a::A; }",
            "/// [`crate::a::A`] is one.\nstruct C;",
            "use crate::a; fn f(c: C) { c.A() }",
            "struct C { A: u8 }",
            "use other::A; fn f(_: A) {}",
            "use std::a::A;",
            "use crate::a::Vec;",
        ] {
            let a = ("a.rs", "use std::vec::Vec; use crate::b::B; pub struct A(B);");
            assert_none(&[ROOT, a, ("b.rs", &format!("pub struct B; {text}"))]);
        }
    }

    #[test]
    fn a_parent_that_declares_and_re_exports_makes_no_circle_and_one_that_is_used_does() {
        let (root, child) = (("lib.rs", "mod a;"), ("a/b.rs", "use super::{Other, C}; struct B;"));
        let clean = "mod b; mod c; pub use b::B; pub(crate) use c::{C, Other};";
        let c = ("a/c.rs", "pub struct C; pub struct Other;");
        assert_none(&[root, ("a/mod.rs", clean), child, c]);
        let planted = "mod b; mod c; use b::B; pub use c::C; pub struct Other(B);";
        assert_circle(&[root, ("a/mod.rs", planted), child, c]);
        let called = "mod b; mod c; pub use c::C; pub struct Other; fn f() { b::f() }";
        assert_circle(&[root, ("a/mod.rs", called), child, c]);
        assert_circle(&[root, ("a.rs", called), child, c]);
    }

    #[test]
    fn a_re_exported_item_that_its_own_file_uses_counts() {
        let child = ("a/b.rs", "pub struct B; fn f() -> super::Other { g() }");
        let root = ("lib.rs", "mod a;");
        assert_none(&[root, ("a/mod.rs", "mod b; pub use b::B; pub struct Other;"), child]);
        assert_circle(&[root, ("a/mod.rs", "mod b; pub use b::B; pub struct Other(B);"), child]);
    }

    #[test]
    fn a_circle_that_is_not_listed_and_a_file_that_is_in_none_are_faults() {
        let a = ("a.rs", "use crate::b::B; pub struct A;");
        let two = circles(&[ROOT, a, ("b.rs", "use crate::a::A; pub struct B;")]);
        let faults = |list: &str, found: &[Circle]| list::faults(&list::parse(list), found);
        assert!(faults("# Why.\n\n# They wait.\nc/src/a.rs\nc/src/b.rs\n", &two).is_empty());
        assert_eq!(faults("", &two).len(), 1);
        assert_eq!(faults("c/src/a.rs\nc/src/c.rs\n\nc/src/b.rs\nc/src/d.rs\n", &two).len(), 5);
        assert_eq!(faults("c/src/a.rs\nc/src/b.rs\nc/src/c.rs\n", &two).len(), 1);
        assert_eq!(faults("c/src/a.rs\nc/src/b.rs\n", &[]).len(), 2);
    }

    #[test]
    fn the_list_is_made_shorter_and_never_longer() {
        let a = ("a.rs", "use crate::b::B; pub struct A;");
        let two = circles(&[ROOT, a, ("b.rs", "use crate::a::A; pub struct B;")]);
        let shorter =
            |list: &str, found: &[Circle]| list::text(&list::shorter(&list::parse(list), found));
        let list = "# Why.\n\n# They wait.\nc/src/a.rs\nc/src/b.rs\n";
        assert_eq!(shorter(list, &two), list);
        assert_eq!(shorter(&format!("{list}c/src/c.rs\n"), &two), list);
        assert_eq!(shorter(list, &[]), "# Why.\n");
        assert_eq!(shorter("# Why.\n", &two), "# Why.\n");
    }
}
