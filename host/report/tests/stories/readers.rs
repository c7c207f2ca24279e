//! Reader-writer locks: which of them block which, as the kernel's W1R2_... families have it.

use crate::story::verdict;

fn family(kind: &str, pairs: [&str; 3]) -> Vec<String> {
    let letter = |n: &str| match n {
        "1" => "X",
        "2" => "Y",
        _ => "Z",
    };
    let mut story = format!("{kind} X Y Z\n");
    for (i, pair) in pairs.iter().enumerate() {
        let (a, b) = (letter(&pair[1..2]), letter(&pair[3..4]));
        let (first, second) = (&pair[0..1], &pair[2..3]);
        story += &format!("T{}: {first}({a}) {second}({b}) U({b}) U({a})\n", i + 1);
    }
    verdict(&story)
}

#[test]
fn readers_that_prefer_readers() {
    assert_eq!(family("rwlock", ["W1R2", "W2R3", "W3R1"]), ["likely circular-dependency: X Y Z"]);
    assert_eq!(family("rwlock", ["W1W2", "R2R3", "W3R1"]), ["likely circular-dependency: X Y Z"]);
    assert!(family("rwlock", ["W1W2", "R2R3", "R3W1"]).is_empty());
    assert!(family("rwlock", ["W1R2", "R2R3", "W3W1"]).is_empty());
}

#[test]
fn readers_behind_waiting_writers() {
    // A waiting writer makes the second reader wait for the first, so what is clean above is not.
    assert!(family("writers", ["W1R2", "R2R3", "W3W1"]).is_empty(), "nobody writes Y");
    let written = "
        writers X Y Z
        T1: W(X) R(Y) U(Y) U(X)
        T2: R(Y) R(Z) U(Z) U(Y)
        T3: W(Z) W(X) U(X) U(Z)
        T4: W(Y) U(Y)";
    assert_eq!(verdict(written), ["likely circular-dependency: X Y Z"]);
}

#[test]
fn readers_in_both_orders() {
    let both = "T1: R(X) R(Y) U(Y) U(X)\nT2: R(Y) R(X) U(X) U(Y)";
    assert!(verdict(&format!("rwlock X Y\n{both}")).is_empty());
    assert!(verdict(&format!("rwlock X Y\n{both}\nT3: W(X) U(X) W(Y) U(Y)")).is_empty());
    assert!(verdict(&format!("writers X Y\n{both}")).is_empty(), "no writer, no wait");
    let by_one = format!("writers X Y\n{both}\nT3: W(X) U(X) W(Y) U(Y)");
    assert_eq!(verdict(&by_one), ["possible circular-dependency: X Y"], "it takes two writers");
    let by_two = format!("writers X Y\n{both}\nT3: W(X) U(X)\nT4: W(Y) U(Y)");
    assert_eq!(verdict(&by_two), ["likely circular-dependency: X Y"]);
}

#[test]
fn a_writer_and_a_reader_in_both_orders() {
    let story = "rwlock X\nT1: R(X) L(A) U(A) U(X)\nT2: L(A) W(X) U(X) U(A)";
    assert_eq!(verdict(story), ["likely circular-dependency: X A"]);
    let reads = "rwlock X\nT1: R(X) L(A) U(A) U(X)\nT2: L(A) R(X) U(X) U(A)";
    assert!(verdict(reads).is_empty());
}

#[test]
fn a_gate_held_shared_by_both_is_none() {
    let story = |one: &str, two: &str| {
        format!(
            "rwlock G
             T1: {one}(G) L(A) L(B) U(B) U(A) U(G)
             T2: {two}(G) L(B) L(A) U(A) U(B) U(G)"
        )
    };
    assert_eq!(verdict(&story("R", "R")), ["likely circular-dependency: A B"]);
    assert_eq!(verdict(&story("R", "W")), ["guarded circular-dependency: A B"]);
}

#[test]
fn read_twice() {
    assert!(verdict("rwlock X\nT1: R(X) R(X) U(X) U(X)").is_empty());
    assert!(verdict("writers X\nT1: R(X) R(X) U(X) U(X)").is_empty(), "no writer, no wait");
    let written = "writers X\nT1: R(X) R(X) U(X) U(X)\nT2: W(X) U(X)";
    assert_eq!(verdict(written), ["likely recursive-locking: X"]);
    let also_nested = "writers X\nT1: R(X) R(X) U(X) U(X)\nT2: L(A) W(X) U(X) U(A)";
    assert_eq!(verdict(also_nested), ["likely recursive-locking: X"]);
}

#[test]
fn upgrade_deadlocks() {
    assert_eq!(verdict("rwlock X\nT1: R(X) B(X)"), ["deadlocked recursive-locking: X"]);
}

/// Only one reader at a time may be upgradable.
#[test]
fn upgradable_readers_exclude_each_other() {
    let orders = |one: &str, two: &str| {
        verdict(&format!(
            "rwlock X Y\nT1: {one}(X) {one}(Y) U(Y) U(X)\nT2: {two}(Y) {two}(X) U(X) U(Y)"
        ))
    };
    assert_eq!(orders("UR", "UR"), ["likely circular-dependency: X Y"]);
    assert_eq!(orders("UR", "W"), ["likely circular-dependency: X Y"]);
    assert!(orders("UR", "R").is_empty(), "{:?}", orders("UR", "R"));
    // As a gate one excludes its like, and a writer, and lets readers in.
    let gate = |one: &str, two: &str| {
        verdict(&format!(
            "rwlock G\nT1: {one}(G) L(A) L(B) U(B) U(A) U(G)\nT2: {two}(G) L(B) L(A) U(A) U(B) U(G)"
        ))
    };
    assert_eq!(gate("UR", "UR"), ["guarded circular-dependency: A B"]);
    assert_eq!(gate("UR", "W"), ["guarded circular-dependency: A B"]);
    assert_eq!(gate("UR", "R"), ["likely circular-dependency: A B"]);
    // A thread that is one already waits for itself, and one that reads does not.
    assert_eq!(verdict("rwlock X\nT1: UR(X) UR(X)"), ["likely recursive-locking: X"]);
    assert!(verdict("rwlock X\nT1: R(X) UR(X) U(X) U(X)").is_empty());
    let hangs = "rwlock X Y\nT1: UR(X)\nT2: UR(Y) BUR(X)\nT1: BUR(Y)";
    assert_eq!(verdict(hangs), ["deadlocked circular-dependency: Y X"]);
}

/// The writer was done before the reader was woken.
#[test]
fn a_signal_keeps_writers_away_in_this_run_only() {
    let story = |writes: &str, again: &str| {
        format!(
            "writers A
             T2: L(Q) CW(Q,c)
             T1: {writes} CS(c)
             T2: CE(Q) U(Q) R(A) R(A) U(A) U(A)
             {again}"
        )
    };
    let recursive = "recursive-locking: A";
    assert_eq!(verdict(&story("W(A) U(A)", "")), [format!("possible {recursive}")]);
    assert_eq!(verdict(&story("W(A) U(A)", "T1: W(A) U(A)")), [format!("likely {recursive}")]);
}
