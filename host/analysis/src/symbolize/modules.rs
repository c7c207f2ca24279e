//! Which module an address belonged to, at the time it was recorded.

use lockwright_glibc::library::base_name;
use lockwright_ledger::Ledger;
use lockwright_ledger::rows::Module;

/// The ledger's modules, in the order of their rows.
pub struct Modules {
    rows: Vec<(u32, Module)>,
}

impl Modules {
    /// Those of `ledger`.
    pub fn new(ledger: &Ledger) -> Self {
        Self { rows: ledger.rows::<Module>().collect() }
    }

    /// The row that covers `address` at `epoch`.
    ///
    /// A constructor of a library runs before its `dlopen` returns, hence before the table has the
    /// library: with no module loaded there at that epoch, the first one loaded there later counts.
    /// One that was already gone never does.
    pub fn at(&self, address: u64, epoch: u32) -> Option<&(u32, Module)> {
        let gone = |module: &Module| module.unload_epoch != 0 && module.unload_epoch <= epoch;
        self.rows
            .iter()
            .filter(|(_, module)| module.start <= address && address < module.end && !gone(module))
            // Loaded at that time before not yet loaded; of the former the latest, of these the
            // first.
            .min_by_key(|(id, module)| match epoch.checked_sub(module.load_epoch) {
                Some(age) => (false, age, u32::MAX - id),
                None => (true, module.load_epoch - epoch, *id),
            })
    }
}

/// Libraries that come with the language and are in every program, without their versions.
const RUNTIME: &[&str] = &[
    "libc",
    "libpthread",
    "libm",
    "libdl",
    "librt",
    "libgcc_s",
    "libstdc++",
    "libc++",
    "libc++abi",
    "ld",
    "linux-vdso",
];

/// Whether the module of this path belongs to the C or C++ library, or is the loader.
pub fn is_runtime(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    base_name(name).is_some_and(|library| RUNTIME.contains(&library))
        || ["[vdso]", "ld-linux", "ld-musl"].iter().any(|begin| name.starts_with(begin))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_with_the_language() {
        for path in [
            "/lib/x86_64-linux-gnu/libc.so.6",
            "/lib/x86_64-linux-gnu/libpthread-2.31.so",
            "libstdc++.so.6.0.33",
            "/lib64/ld-linux-x86-64.so.2",
        ] {
            assert!(is_runtime(path), "{path}");
        }
        for path in ["/usr/lib/libcurl.so.4", "/usr/bin/libc", "libmcrypt.so.4", ""] {
            assert!(!is_runtime(path), "{path}");
        }
    }

    fn module(start: u64, load_epoch: u32, unload_epoch: u32) -> Module {
        Module { start, end: start + 0x1000, load_epoch, unload_epoch, ..Default::default() }
    }

    #[test]
    fn an_address_means_the_module_of_its_time() {
        let modules = Modules {
            rows: vec![
                (1, module(0x1000, 0, 0)),
                (2, module(0x8000, 2, 4)),
                (3, module(0x8000, 6, 8)),
                (4, module(0x8000, 9, 0)),
            ],
        };
        let at = |address, epoch| modules.at(address, epoch).map(|(id, _)| *id);
        assert_eq!(at(0x1800, 0), Some(1));
        assert_eq!(at(0x1800, 7), Some(1));
        assert_eq!(at(0x2000, 0), None);
        assert_eq!(at(0x8800, 2), Some(2));
        assert_eq!(at(0x8800, 3), Some(2));
        assert_eq!(at(0x8800, 6), Some(3));
        assert_eq!(at(0x8800, 100), Some(4));
        assert_eq!(at(0x8800, 5), Some(3), "in a constructor: not in the table yet");
        assert_eq!(at(0x8800, 8), Some(4));
    }
}
