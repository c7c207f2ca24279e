//! A file that is read in large pieces, whatever is asked for: names of symbols are short, and a table
//! has tens of thousands.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;

/// Bytes of a piece.
const PIECE: usize = 1 << 16;

/// The file, and the piece of it that was read last. Unlike a `BufReader` it keeps that when somebody
/// seeks.
#[derive(Debug)]
pub struct Buffered {
    file: File,
    /// Where the next read begins.
    at: u64,
    piece: Vec<u8>,
    /// Where the piece begins.
    begin: u64,
}

impl Buffered {
    pub fn new(file: File) -> Self {
        Self { file, at: 0, piece: Vec::new(), begin: 0 }
    }

    /// What the piece has from where the next read begins.
    fn rest(&self) -> &[u8] {
        let skip = self.at.checked_sub(self.begin).and_then(|skip| usize::try_from(skip).ok());
        skip.and_then(|skip| self.piece.get(skip..)).unwrap_or_default()
    }
}

impl Read for Buffered {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        if self.rest().is_empty() && to.len() < PIECE {
            self.begin = self.at;
            self.piece.resize(PIECE, 0);
            let read = self.file.read_at(&mut self.piece, self.begin);
            self.piece.truncate(*read.as_ref().unwrap_or(&0));
            read?;
        }
        let length = match self.rest() {
            [] => self.file.read_at(to, self.at)?,
            mut rest => rest.read(to)?,
        };
        self.at += length as u64;
        Ok(length)
    }
}

impl Seek for Buffered {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let (from, by) = match to {
            SeekFrom::Start(at) => (at, 0),
            SeekFrom::Current(by) => (self.at, by),
            SeekFrom::End(by) => (self.file.metadata()?.len(), by),
        };
        let before = || io::Error::new(io::ErrorKind::InvalidInput, "before the file's begin");
        self.at = from.checked_add_signed(by).ok_or_else(before)?;
        Ok(self.at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same as the file itself, in whatever order it is read.
    #[test]
    fn it_reads_as_the_file_does() {
        let path = std::env::current_exe().unwrap();
        let whole = std::fs::read(&path).unwrap();
        let end = whole.len() as u64;
        let mut file = Buffered::new(File::open(&path).unwrap());
        assert_eq!(file.seek(SeekFrom::End(0)).unwrap(), end);
        // A linear congruential generator: any order will do.
        let mut random = 1u64;
        for _ in 0..2000 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let at = (random >> 20) % end;
            let length = [3, 256, PIECE - 1, PIECE, 3 * PIECE][(random >> 60) as usize % 5];
            let to = (at as usize + length).min(whole.len());
            let mut read = vec![0; to - at as usize];
            file.seek(SeekFrom::Start(at)).unwrap();
            file.read_exact(&mut read).unwrap();
            assert!(read == whole[at as usize..to], "{length} bytes at {at}");
        }
        file.seek(SeekFrom::Start(end)).unwrap();
        assert_eq!(file.read(&mut [0; 8]).unwrap(), 0);
        assert!(file.seek(SeekFrom::Current(-(end as i64) - 1)).is_err());
    }
}
