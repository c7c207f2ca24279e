//! GNU build ids, as ELF objects have them in a note.

/// Bytes of a build id, at most: others are not looked at.
pub const MOST: usize = 32;

/// The kind of the note.
const NT_GNU_BUILD_ID: u32 = 3;

/// The build id in a segment of notes with this alignment.
pub fn in_notes(mut notes: &[u8], align: u64) -> Option<&[u8]> {
    let align = if align == 8 { 8 } else { 4 };
    while let (Some(name_len), Some(len), Some(kind)) =
        (word(notes, 0), word(notes, 4), word(notes, 8))
    {
        let from = (12 + (name_len as usize).next_multiple_of(4)).next_multiple_of(align);
        let id = notes.get(from..from.saturating_add(len as usize))?;
        let is_one = kind == NT_GNU_BUILD_ID && notes.get(12..16) == Some(b"GNU\0");
        if is_one && (1..=MOST).contains(&id.len()) {
            return Some(id);
        }
        notes = notes.get((from + len as usize).next_multiple_of(align)..)?;
    }
    None
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4).map(|b| u32::from_ne_bytes([b[0], b[1], b[2], b[3]]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(kind: u32, name: &[u8], id: &[u8], align: usize) -> Vec<u8> {
        let mut bytes: Vec<u8> = [name.len() as u32, id.len() as u32, kind]
            .iter()
            .flat_map(|word| word.to_ne_bytes())
            .collect();
        for part in [name, id] {
            bytes.extend(part);
            bytes.resize(bytes.len().next_multiple_of(4), 0);
        }
        bytes.resize(bytes.len().next_multiple_of(align), 0);
        bytes
    }

    #[test]
    fn the_note_is_found_among_others() {
        for align in [4, 8] {
            let others = [note(5, b"GNU\0", &[1; 12], align), note(3, b"Go\0\0", &[2; 7], align)];
            let own = note(3, b"GNU\0", &[7; 20], align);
            let all = [others.concat(), own].concat();
            assert_eq!(in_notes(&all, align as u64), Some([7; 20].as_slice()), "{align}");
            assert_eq!(in_notes(&others.concat(), align as u64), None);
            assert_eq!(in_notes(&all[..all.len() - 8], align as u64), None, "it is cut");
        }
        assert_eq!(in_notes(&note(3, b"GNU\0", &[7; 40], 4), 4), None, "it is too long");
        assert_eq!(in_notes(&[0xff; 64], 4), None);
    }
}
