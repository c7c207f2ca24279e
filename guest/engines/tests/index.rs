//! The hash index from keys to rows.

use std::collections::HashMap;
use std::sync::atomic::Ordering::Relaxed;

use lockwright_engines::index::{Index, hash};
use lockwright_ledger::{Writer, layout::PAGE};

#[test]
fn keys_are_found_until_they_are_removed() {
    let words = vec![0u64; 65 * PAGE / 8].leak();
    let base = (words.as_mut_ptr() as usize).next_multiple_of(PAGE) as *mut u8;
    // SAFETY: the words are leaked and zeroed, and `base` is the first page boundary in them.
    let writer = unsafe { Writer::create(base, 64 * PAGE, |_, _| Ok(()), |_| {}) };
    let mut writer = writer.expect("room for a ledger");
    let before = writer.header().used.load(Relaxed);
    let mut index = Index::new();
    let mut there = HashMap::new();
    for n in 1..20_000u32 {
        // Few homes, so that many meet.
        let key = hash(&[u64::from(n)]) & 0xffff_ffff_0000_1fff;
        index.insert(&mut writer, key, n);
        there.insert(key, n);
        if there.len() > 300 {
            let &key = there.keys().nth(n as usize % 300).expect("so many");
            index.remove(&writer, key);
            index.remove(&writer, key);
            there.remove(&key);
            assert_eq!(index.get(&writer, key), None);
        }
        assert_eq!(index.len(), there.len() as u64);
    }
    assert!(there.iter().all(|(&key, &id)| index.get(&writer, key) == Some(id)));
    let used = writer.header().used.load(Relaxed);
    assert!(used - before <= 32 << 10, "{} bytes", used - before);
}
