//! Names of the kernel's functions, by the text of /proc/kallsyms.

use std::ops::Range;

/// The kernel's symbols.
#[derive(Clone, Debug, Default)]
pub struct Kallsyms {
    /// Address and name, in the order of addresses.
    symbols: Vec<(u64, String)>,
    /// Where the functions of locks and of the scheduler are, as the linker has put them.
    locks: Vec<Range<u64>>,
}

impl Kallsyms {
    /// Reads the text. Addresses are all zero for users that may not know them: then there are no
    /// symbols.
    pub fn new(text: &str) -> Self {
        let symbol = |line: &str| {
            let mut words = line.split_whitespace();
            let address = u64::from_str_radix(words.next()?, 16).ok().filter(|&at| at != 0)?;
            let name = words.nth(1)?;
            Some((address, name.to_owned()))
        };
        let mut symbols: Vec<(u64, String)> = text.lines().filter_map(symbol).collect();
        symbols.sort_by_key(|(address, _)| *address);
        let of = |name: &str| symbols.iter().find(|(_, own)| own == name).map(|(at, _)| *at);
        let range = |section: &str| {
            Some(of(&format!("__{section}_text_start"))?..of(&format!("__{section}_text_end"))?)
        };
        let locks = ["lock", "sched"].into_iter().filter_map(range).collect();
        Self { symbols, locks }
    }

    /// There are none.
    pub fn is_empty(&self) -> bool {
        self.symbols.is_empty()
    }

    /// The symbol that an address is at or behind, and how far.
    pub fn at(&self, address: u64) -> Option<(&str, u64)> {
        /// No function or variable of the kernel's own is so far from the next symbol.
        const FARTHEST: u64 = 1 << 20;
        let after = self.symbols.partition_point(|(start, _)| *start <= address);
        let (start, name) = self.symbols.get(after.checked_sub(1)?)?;
        (address - start < FARTHEST).then_some((name.as_str(), address - start))
    }

    /// Whether it is code of the locks themselves, or of the scheduler.
    pub fn is_lock_code(&self, address: u64) -> bool {
        self.locks.iter().any(|range| range.contains(&address))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_the_symbol_before_it() {
        let text = "ffffffff81000000 T _text\nffffffff81000100 t down_read\t[some]\n\
                    ffffffff82000000 T __lock_text_start\nffffffff82000100 T __lock_text_end\n\
                    0000000000000000 A fixed\n";
        let symbols = Kallsyms::new(text);
        assert_eq!(symbols.at(0xffff_ffff_8100_0108), Some(("down_read", 8)));
        assert_eq!(symbols.at(0xffff_ffff_8100_0000), Some(("_text", 0)));
        assert_eq!(symbols.at(0x1000), None);
        assert_eq!(symbols.at(u64::MAX), None, "far behind all");
        assert!(symbols.is_lock_code(0xffff_ffff_8200_00ff));
        assert!(!symbols.is_lock_code(0xffff_ffff_8200_0100));
        assert!(Kallsyms::new("0000000000000000 T _text\n").is_empty(), "of an ordinary user");
    }
}
