//! Which part of a test is due at a commit.

/// The part of this whose turn it is. Each commit that CI tests has one of so many parts, which its name chooses
/// (`tools/xtask/src/test/sample.rs`), and no two tests need have the same one. Elsewhere all of it is tested.
pub fn due<T>(all: impl IntoIterator<Item = T>, parts: usize) -> impl Iterator<Item = T> {
    let turn = std::env::var("LOCKWRIGHT_TURN").ok();
    due_at(turn.map(|turn| turn.parse().expect("a number")), all, parts)
}

/// The part whose turn it is at this one.
fn due_at<T>(
    turn: Option<usize>,
    all: impl IntoIterator<Item = T>,
    parts: usize,
) -> impl Iterator<Item = T> {
    // Each test has a thread of its name.
    let name = std::thread::current().name().unwrap_or_default().to_owned();
    let of_test: usize = name.bytes().map(usize::from).sum();
    let is_due =
        move |part: usize| turn.is_none_or(|turn| (part + turn + of_test).is_multiple_of(parts));
    all.into_iter().enumerate().filter(move |(part, _)| is_due(*part)).map(|(_, one)| one)
}

#[test]
fn each_part_is_due_once_in_so_many_turns() {
    let due_at = |turn| due_at(turn, 0..7, 3).collect::<Vec<_>>();
    let mut turns: Vec<_> = (0..3).flat_map(|turn| due_at(Some(turn))).collect();
    turns.sort_unstable();
    assert_eq!(turns, Vec::from_iter(0..7));
    assert_eq!(due_at(None), turns);
}
