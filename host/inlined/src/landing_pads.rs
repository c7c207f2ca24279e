//! Where the unwinder can continue in a function: the landing pads of its table of call sites.

use gimli::{DwEhPe, EndianSlice, LittleEndian, Reader, constants};

use crate::module::{Bounds, Module};

/// The addresses of a function's landing pads. `None`: it has some, and its table cannot be read.
pub fn landing_pads(module: &Module<'_>, bounds: Bounds) -> Option<Vec<u64>> {
    let Some(table) = bounds.landing_pads else { return Some(Vec::new()) };
    parse(module.constants_from(table)?, bounds.start)
}

/// The header has the base of the landing pads and the table of types, each with its encoding, and then the call sites.
fn parse(table: &[u8], start: u64) -> Option<Vec<u64>> {
    let mut reader = EndianSlice::new(table, LittleEndian);
    // A base of their own is for functions in several parts; Rust has none.
    if DwEhPe(reader.read_u8().ok()?) != constants::DW_EH_PE_omit {
        return None;
    }
    if DwEhPe(reader.read_u8().ok()?) != constants::DW_EH_PE_omit {
        reader.read_uleb128().ok()?;
    }
    let encoding = DwEhPe(reader.read_u8().ok()?);
    let len = usize::try_from(reader.read_uleb128().ok()?).ok()?;
    let mut sites = reader.split(len).ok()?;
    let mut pads = Vec::new();
    while !sites.is_empty() {
        let mut number = || match encoding {
            constants::DW_EH_PE_uleb128 => sites.read_uleb128().ok(),
            constants::DW_EH_PE_udata4 => sites.read_u32().ok().map(u64::from),
            _ => None,
        };
        let (_first, _len, pad) = (number()?, number()?, number()?);
        sites.read_uleb128().ok()?;
        if pad != 0 {
            pads.push(start.checked_add(pad)?);
        }
    }
    Some(pads)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn landing_pads_are_those_of_the_call_sites() {
        let table = [0xff, 0xff, 0x01, 0x08, 0x02, 0x05, 0x20, 0x00, 0x07, 0x05, 0x00, 0x00];
        assert_eq!(parse(&table, 0x1000), Some(vec![0x1020]));
    }

    #[test]
    fn a_table_that_is_cut_off_is_none() {
        assert_eq!(parse(&[0xff, 0xff, 0x01, 0x08, 0x02], 0), None);
        assert_eq!(parse(&[], 0), None);
    }
}
