//! The whole programs measured: each does a given piece of work and ends, or is a server whose
//! clients do.

use std::path::{Path, PathBuf};

use super::arm::{Arm, Bench, installed, said};
use super::usage::{TICK, Usage, Used};
use super::{mariadb, memcached};

/// How much a program is given to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// Under the tool: some tenths of a second alone.
    Full,
    /// Under Helgrind, DRD and ThreadSanitizer, which take so many times as long.
    Small,
}

/// A program to measure.
pub struct Whole {
    /// The ratio of times to stay below under the tool.
    pub aim: f64,
    /// Which of Helgrind, DRD and ThreadSanitizer can be asked to run it.
    pub others: Vec<Arm>,
    /// Runs it once in an arm.
    pub measure: Box<dyn FnMut(Arm, Size) -> Result<Usage, String>>,
}

/// Makes one ready to run in these arms and natively, or says why it cannot.
pub type Make = fn(&'static Bench, &[Arm]) -> Result<Whole, String>;

/// All of them. What the others need is not even built.
pub const ALL: [(&str, Make); 12] = [
    ("kccachetest order, 4 threads", kyoto_cabinet),
    ("SQLite, 2 shared connections, 4 threads", sqlite),
    ("RocksDB db_bench, 4 threads", rocksdb),
    ("xz -T2", |bench, _| {
        packer(bench, "xz", "xz-utils", 1, &["-T2", "-0", "--block-size=256KiB"])
    }),
    ("zstd -T2", |bench, _| packer(bench, "zstd", "zstd", 5, &["-q", "-T2", "-B512KiB"])),
    ("pigz -p 2", |bench, _| packer(bench, "pigz", "pigz", 2, &["-p", "2"])),
    ("CPython, 4 threads and a queue", python),
    ("GStreamer, 2 queues (GLib)", gstreamer),
    ("GraphicsMagick blur (OpenMP)", graphics_magick),
    ("ripgrep -j4 (futexes)", ripgrep),
    ("memcached, 4 threads, 4 clients", memcached),
    ("MariaDB, sysbench oltp_read_write", mariadb),
];

/// Aim for a program whose threads do little but take the same locks.
const SATURATED: f64 = 1.10;
/// For one that has other things to do.
const OTHER: f64 = 1.03;

/// How much there is to do: at full size, at the small one, and where it only matters that it runs.
struct Amounts([u32; 3]);

impl Amounts {
    fn of(&self, bench: &Bench, size: Size) -> u32 {
        let [full, small, smoke] = self.0;
        match size {
            _ if bench.smoke => smoke,
            Size::Full => full,
            Size::Small => small,
        }
    }
}

fn kyoto_cabinet(bench: &'static Bench, _: &[Arm]) -> Result<Whole, String> {
    let program = installed("kccachetest", "kyotocabinet-utils")?;
    let records = Amounts([80_000, 5_000, 200]);
    ending(bench, SATURATED, program, move |size| {
        let records = records.of(bench, size).to_string();
        ["order", "-th", "4"].map(str::to_owned).into_iter().chain([records]).collect()
    })
}

fn sqlite(bench: &'static Bench, _: &[Arm]) -> Result<Whole, String> {
    let program = bench.build("sqlite", &["-lsqlite3"])?;
    let statements = Amounts([150_000, 3_000, 100]);
    // That is only its client. The library's locks ThreadSanitizer sees all the same.
    let rebuilt = match bench.can(Arm::Tsan) {
        Ok(()) => Some(bench.rebuild("sqlite", &["-lsqlite3"])?),
        Err(_) => None,
    };
    ending(bench, SATURATED, Program { installed: program, rebuilt }, move |size| {
        vec!["0".to_owned(), statements.of(bench, size).to_string()]
    })
}

fn rocksdb(bench: &'static Bench, _: &[Arm]) -> Result<Whole, String> {
    let program = installed("db_bench", "rocksdb-tools")?;
    let keys = Amounts([20_000, 1_000, 100]);
    ending(bench, OTHER, program, move |size| {
        vec![
            "--benchmarks=fillseq,readrandom".to_owned(),
            "--threads=4".to_owned(),
            "--seed=1".to_owned(),
            format!("--num={}", keys.of(bench, size)),
            format!("--db={}", bench.work.join("whole").display()),
        ]
    })
}

/// A compressor, of words that do not repeat soon: `times` as many as the slowest has.
fn packer(
    bench: &'static Bench,
    program: &str,
    package: &str,
    times: u64,
    options: &[&str],
) -> Result<Whole, String> {
    let program = installed(program, package)?;
    let words = Amounts([1_000_000, 100_000, 4_000]);
    let text = |size| {
        let file = bench.work.join(format!("text-{size:?}"));
        let words: String = (0..times * u64::from(words.of(bench, size)))
            .map(|n| format!("{:x} ", n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40))
            .collect();
        std::fs::write(&file, words).map_err(|e| format!("{}: {e}", file.display()))?;
        Ok::<_, String>(file.display().to_string())
    };
    let (full, small) = (text(Size::Full)?, text(Size::Small)?);
    let options: Vec<String> = options.iter().copied().chain(["-c"]).map(str::to_owned).collect();
    ending(bench, OTHER, program, move |size| {
        let text = if size == Size::Full { &full } else { &small };
        options.iter().chain([text]).cloned().collect()
    })
}

fn python(bench: &'static Bench, _: &[Arm]) -> Result<Whole, String> {
    // Not the first in PATH, which may be a script that finds another.
    let program = installed("/usr/bin/python3", "python3")?;
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/bench/programs/threads.py");
    let items = Amounts([20_000, 1_000, 20]);
    ending(bench, OTHER, program, move |size| {
        vec![script.display().to_string(), items.of(bench, size).to_string()]
    })
}

/// Buffers that go through queues between threads: GLib's locks and conditions.
fn gstreamer(bench: &'static Bench, _: &[Arm]) -> Result<Whole, String> {
    let program = installed("gst-launch-1.0", "gstreamer1.0-tools")?;
    let buffers = Amounts([80_000, 2_000, 20]);
    ending(bench, SATURATED, program, move |size| {
        let buffers = format!("num-buffers={}", buffers.of(bench, size));
        let source = ["-q", "fakesrc", &buffers, "sizetype=fixed", "sizemax=64"];
        let queues = ["!", "queue", "!", "queue", "!", "fakesink", "sync=false"];
        source.into_iter().chain(queues).map(str::to_owned).collect()
    })
}

/// An image, row by row in several threads: critical sections of OpenMP.
fn graphics_magick(bench: &'static Bench, _: &[Arm]) -> Result<Whole, String> {
    let program = installed("gm", "graphicsmagick")?;
    let sides = Amounts([1_000, 150, 20]);
    ending(bench, OTHER, program, move |size| {
        let side = sides.of(bench, size);
        let image = format!("{side}x{side}");
        let made = bench.work.join("blurred.ppm").display().to_string();
        ["convert", "-size", &image, "gradient:red-blue", "-blur", "0x4", &made]
            .map(str::to_owned)
            .into()
    })
}

/// A search in many files: the futexes of Rust's std, whose waits alone are seen.
fn ripgrep(bench: &'static Bench, _: &[Arm]) -> Result<Whole, String> {
    let program = installed("rg", "ripgrep")?;
    ending(bench, OTHER, program, move |size| {
        let place = match size {
            Size::Full if !bench.smoke => "/usr/include",
            _ => "/usr/include/linux",
        };
        ["-j4", "--no-ignore", "--count", "[a-z]+_lock", place].map(str::to_owned).into()
    })
}

/// A program as it is, and with ThreadSanitizer, if it was rebuilt.
struct Program {
    installed: PathBuf,
    rebuilt: Option<PathBuf>,
}

impl From<PathBuf> for Program {
    fn from(installed: PathBuf) -> Self {
        Self { installed, rebuilt: None }
    }
}

/// A program that ends by itself.
fn ending(
    bench: &'static Bench,
    aim: f64,
    program: impl Into<Program>,
    arguments: impl Fn(Size) -> Vec<String> + 'static,
) -> Result<Whole, String> {
    let timed = bench.build("timed", &[])?;
    let Program { installed, rebuilt } = program.into();
    let tsan = rebuilt.as_ref().map(|_| Arm::Tsan);
    Ok(Whole {
        aim,
        others: [Arm::Helgrind, Arm::Drd].into_iter().chain(tsan).collect(),
        measure: Box::new(move |arm, size| {
            let program = rebuilt.as_ref().filter(|_| arm == Arm::Tsan).unwrap_or(&installed);
            Usage::parse(&said(bench.timed(arm, &timed, program).args(arguments(size)))?)
        }),
    })
}

fn memcached(bench: &'static Bench, arms: &[Arm]) -> Result<Whole, String> {
    let servers = memcached::Servers::start(bench, &servers_of(arms, &[Arm::Drd, Arm::Tsan]))?;
    let batches = Amounts([800, 40, 5]);
    Ok(Whole {
        aim: OTHER,
        // DRD takes half a minute for the first 2,048 commands.
        others: vec![Arm::Helgrind],
        measure: Box::new(move |arm, size| {
            let batches = batches.of(bench, size) as usize;
            served(|| servers.used(arm), || servers.load(arm, batches))
        }),
    })
}

fn mariadb(bench: &'static Bench, arms: &[Arm]) -> Result<Whole, String> {
    let others = [Arm::Helgrind, Arm::Drd, Arm::Tsan];
    let servers = mariadb::Servers::start(bench, &servers_of(arms, &others))?;
    let events = Amounts([600, 60, 10]);
    Ok(Whole {
        aim: OTHER,
        // No server can be waited for that starts under them.
        others: Vec::new(),
        measure: Box::new(move |arm, size| {
            let events = events.of(bench, size);
            served(|| servers.used(arm), || servers.sysbench(arm, "oltp_read_write", events))
        }),
    })
}

/// The arms that a server is started in: natively, and in each of these but the ones that it is not for.
fn servers_of(arms: &[Arm], not_for: &[Arm]) -> Vec<Arm> {
    let others = arms.iter().filter(|arm| **arm != Arm::Native && !not_for.contains(arm));
    std::iter::once(Arm::Native).chain(others.copied()).collect()
}

/// What a server, which is there before and after, takes for its clients' requests; its memory is
/// that of all its life until then.
fn served(
    used: impl Fn() -> Result<Used, String>,
    load: impl FnOnce() -> Result<f64, String>,
) -> Result<Usage, String> {
    let before = used()?;
    let seconds = load()?;
    let after = used()?;
    // Nothing takes no time.
    let cpu = (after.cpu - before.cpu).max(TICK);
    Ok(Usage { seconds, used: Used { cpu, kib: after.kib } })
}
