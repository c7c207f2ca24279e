//! Tables of inlined locks ([`lockwright_inlined`]) for the processes of a run: that of the program is there before it starts,
//! others are made when a process asks for them: a library that it loads later, or a program that it executes.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::{Builder, JoinHandle};

use lockwright_analysis::symbolize::elf::with_elf;
use lockwright_console::error::{Error, Result};
use lockwright_ledger::inlined::{FILE_PREFIX, REQUESTS, Request};
use object::read::{Object, ObjectSymbol};

use super::preload::{INLINED, LIBRARY};
use super::signals::Mask;
use crate::ledger_dir::{Folder, KeptTables, RunDir, is_table_name};
use crate::run::background;
use crate::run::target::contents::{Contents, Mark};

/// The greatest file that is looked into, bytes.
const MOST_BYTES: u64 = 1 << 30;

/// Makes tables as long as it lives.
#[derive(Debug)]
pub struct Tables {
    /// Makes those that are asked for.
    maker: Option<JoinHandle<()>>,
    /// The other end of the pipe that it reads.
    requests: File,
    /// Where the pipe and the tables are.
    ledgers: Folder,
}

impl Tables {
    /// Makes the table of `program` in the run's directory, and begins to make those that its processes ask for.
    ///
    /// # Errors
    /// If the directory cannot be written to, or there can be no thread.
    pub fn make(program: &Path, dir: &RunDir) -> Result<Self> {
        let failed = |error| {
            Error::new(format!("cannot write in {}: {error}", dir.path().display()))
                .help("name another directory: --ledger-dir DIR, or do without the locks that are inlined: --no-inlined")
        };
        let ledgers = dir.for_answers().map_err(failed)?;
        let pipe = ledgers.make_pipe(REQUESTS).map_err(failed)?;
        let requests = pipe.try_clone().map_err(failed)?;
        let own = ledgers.again().map_err(failed)?;
        let place = Place { ledgers, kept: dir.kept_tables(LIBRARY.id) };
        place.give(program);
        // Signals are for the thread that waits for the program, which takes them only once that has started.
        let before = Mask::close();
        let maker = Builder::new()
            .name("inlined locks".to_owned())
            .stack_size(background::STACK)
            .spawn(move || serve(pipe, &place));
        before.set();
        Ok(Self { maker: Some(maker.map_err(failed)?), requests, ledgers: own })
    }
}

impl Drop for Tables {
    fn drop(&mut self) {
        // A request for nothing ends it.
        if self.requests.write_all(Request::NONE.as_bytes()).is_ok()
            && let Some(maker) = self.maker.take()
        {
            let _ = maker.join();
        }
        // A copy of a kept run would wait for the other end of the pipe.
        for name in self.ledgers.names().unwrap_or_default() {
            if is_table_name(&name) {
                let _ = self.ledgers.remove_file(&name);
            }
        }
    }
}

/// Has the library in `command` look for tables, if there are any.
pub fn tell(tables: Option<&Tables>, command: &mut Command) {
    if tables.is_some() {
        command.env(INLINED, "1");
    }
}

/// Answers requests until there is one for nothing.
fn serve(mut pipe: File, place: &Place) {
    let mut bytes = [0; Request::BYTES];
    while pipe.read_exact(&mut bytes).is_ok() {
        let request = Request::from_bytes(&bytes);
        let text = |bytes: &[u8]| -> OsString {
            let len = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
            OsString::from_vec(bytes[..len].to_vec())
        };
        let (id, path) = (text(&request.build_id), PathBuf::from(text(&request.path)));
        if id.is_empty() {
            return;
        }
        let is_id = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        if let Some(id) = id.to_str().filter(|id| id.bytes().all(is_id)) {
            // Without a table the process goes on after a while, unwatched in this.
            let _ = place.answer(id, &path);
        }
    }
}

/// Where tables are put.
#[derive(Debug)]
struct Place {
    /// Among the run's ledgers.
    ledgers: Folder,
    kept: Option<KeptTables>,
}

impl Place {
    /// Puts the table of the program there, if it has one.
    fn give(&self, program: &Path) {
        if let Some(id) =
            Facts::of(program).filter(|facts| facts.may_have_some).map(|it| it.build_id)
        {
            let _ = self.put_table(&id, program);
        }
    }

    /// Puts the table of the file with this build id there; an empty file if it has none, or another file is there now.
    fn answer(&self, id: &str, path: &Path) -> io::Result<()> {
        let facts = Facts::of(path).filter(|facts| facts.build_id == id);
        match facts.is_some_and(|facts| facts.may_have_some) {
            true => self.put_table(id, path),
            false => self.put(id, &[]),
        }
    }

    fn put_table(&self, id: &str, path: &Path) -> io::Result<()> {
        let name = name(id);
        if self.kept.as_ref().is_some_and(|kept| kept.give(id, &self.ledgers, &name)) {
            return Ok(());
        }
        // A program that reports its locks itself would report them twice.
        let reports = Contents::read_names(path).is_some_and(|contents| contents.has(Mark::Tells));
        let table = if reports { None } else { table_of(path) }.unwrap_or_default();
        if let Some(kept) = &self.kept
            && kept.keep(id, &table).is_ok()
            && kept.give(id, &self.ledgers, &name)
        {
            return Ok(());
        }
        self.put(id, &table)
    }

    fn put(&self, id: &str, table: &[u8]) -> io::Result<()> {
        let (new, name) = (format!("{}.new", name(id)), name(id));
        // Under its own name only once it is whole.
        self.ledgers.create(&new)?.write_all(table)?;
        self.ledgers.rename(OsStr::new(&new), &self.ledgers, OsStr::new(&name))
    }
}

/// The name of a table among the ledgers.
fn name(id: &str) -> String {
    format!("{FILE_PREFIX}{id}")
}

/// What is known of a file without all of it being read.
struct Facts {
    /// In hexadecimal digits.
    build_id: String,
    /// It calls what those call that make locks of futexes, or the cold halves of such locks in another module.
    may_have_some: bool,
}

impl Facts {
    fn of(path: &Path) -> Option<Self> {
        with_elf(path, |elf| {
            let id = elf.build_id().ok()??;
            let build_id = id.iter().map(|byte| format!("{byte:02x}")).collect();
            let mut names = elf.dynamic_symbols().filter(ObjectSymbol::is_undefined);
            let may_have_some = names.any(|symbol| {
                symbol.name().is_ok_and(|name| name == "syscall" || name.contains("_contended"))
            });
            Some(Self { build_id, may_have_some })
        })?
    }
}

/// The table of a file, as bytes; `None` if it has no inlined lock, or cannot be read.
fn table_of(path: &Path) -> Option<Vec<u8>> {
    let file = File::open(path).ok()?;
    let meta = file.metadata().ok().filter(|meta| meta.is_file() && meta.len() <= MOST_BYTES)?;
    let mut bytes = Vec::with_capacity(meta.len() as usize);
    file.take(MOST_BYTES).read_to_end(&mut bytes).ok()?;
    Some(lockwright_inlined::table(&bytes).ok()??.to_bytes())
}
