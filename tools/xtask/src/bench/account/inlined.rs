//! Where code comes from that the compiler has inlined: by `addr2line`, which has all functions at an address.

use std::collections::HashMap;
use std::path::Path;
use std::process::Command;

use crate::bench::arm::said;

/// Addresses that are asked for at once: their text is shorter than the arguments of a command may be.
const AT_ONCE: usize = 4_000;

/// The source files at each address of `object`, innermost first.
///
/// # Errors
/// If there is no `addr2line`, or it does not answer for all addresses.
pub fn files(object: &Path, addresses: &[u64]) -> Result<HashMap<u64, Vec<String>>, String> {
    let mut all = HashMap::new();
    for some in addresses.chunks(AT_ONCE) {
        let mut command = Command::new("addr2line");
        command.args(["--addresses", "--inlines", "--exe"]).arg(object);
        command.args(some.iter().map(|address| format!("{address:#x}")));
        let found = parse(&said(&mut command)?);
        match some.iter().find(|address| !found.contains_key(address)) {
            Some(address) => return Err(format!("addr2line says nothing of {address:#x}")),
            None => all.extend(found),
        }
    }
    Ok(all)
}

fn parse(text: &str) -> HashMap<u64, Vec<String>> {
    let mut all: HashMap<u64, Vec<String>> = HashMap::new();
    let mut address = 0;
    for line in text.lines() {
        match line.strip_prefix("0x").map(|digits| u64::from_str_radix(digits, 16)) {
            Some(Ok(next)) => {
                address = next;
                all.entry(address).or_default();
            }
            _ => {
                let file = line.rsplit_once(':').map_or(line, |(file, _)| file);
                all.entry(address).or_default().push(file.to_owned());
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_those_of_all_functions_at_an_address() {
        let found = parse(
            "0x0000000000000010\n/core/atomic.rs:5\n/src/board.rs:90 (discriminator 2)\n0x0000000000000018\n??:0\n",
        );
        assert_eq!(found[&0x10], ["/core/atomic.rs", "/src/board.rs"]);
        assert_eq!(found[&0x18], ["??"]);
    }

    #[test]
    fn addresses_of_nothing_are_an_error() {
        let error = files(Path::new("/does/not/exist"), &[1]);
        assert!(error.is_err());
    }
}
