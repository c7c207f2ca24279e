//! `lockwright meter --kernel`, `--pid` and `--system`: what the kernel sees, by eBPF, which
//! `lockwright-bpf` loads and reads. Nothing is preloaded, and nothing restarted.

mod beside;
mod futexes;
mod helper;
mod places;
mod process;
mod top;

pub use beside::KernelWaits;
pub use futexes::Futexes;
pub use helper::Helper;

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use super::ending::Ending;
use super::output::sinks::Sinks;
use super::session;
use super::watch::child::Child;
use super::watch::signals::Signals;
use crate::args::MeterArgs;
use helper::Counted;
use lockwright_analysis::traced::{Kallsyms, Message, build_futexes, build_kernel};
use lockwright_console::error::{Error, Result, exit};
use lockwright_report::lockmeter::view::Compat;
use lockwright_report::reports::{FutexWaits, KernelLocks, Report};
use places::Known;
use top::Top;

/// How often to check whether it is time to end.
const POLL: Duration = Duration::from_millis(20);

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Kernel,
    Process(u32),
    System,
}

/// Runs the command, if it is one of these.
///
/// # Errors
/// If the kernel does not let us, or the program cannot be run.
pub fn run(args: &MeterArgs) -> Option<Result<Ending>> {
    let what = match (args.kernel, args.system, args.pid) {
        (true, ..) => What::Kernel,
        (_, true, _) => What::System,
        (.., Some(pid)) => What::Process(pid),
        _ => return None,
    };
    Some(measure(what, args))
}

fn measure(what: What, args: &MeterArgs) -> Result<Ending> {
    let is_compat = match (args.view.compat, what) {
        (None, _) => false,
        (Some(Compat::Lockmeter), What::Kernel) => true,
        _ => {
            let message = "--compat has no such table of what the kernel sees";
            return Err(Error::with_code(exit::USAGE, message)
                .help("--kernel --compat lockmeter is the one that there is"));
        }
    };
    let mut output = Sinks::open(&args.output)?;
    if let What::Process(pid) = what {
        permitted(pid)?;
    }
    let program = match args.program.is_empty() {
        true => None,
        false => Some(session::find_any(args.program.clone())?),
    };
    let arguments = match what {
        What::Kernel => match args.time.interval {
            Some(seconds) => {
                let ms = (seconds * 1000.0).clamp(1.0, f64::from(i32::MAX));
                vec!["kernel".to_owned(), format!("{ms:.0}")]
            }
            None => vec!["kernel".to_owned()],
        },
        What::System => vec!["futexes".to_owned(), "0".to_owned()],
        What::Process(pid) => vec!["futexes".to_owned(), pid.to_string()],
    };
    let pid = match what {
        What::Process(pid) => Some(pid),
        What::Kernel | What::System => None,
    };
    let helper = Helper::start_for(&arguments, pid)?;
    let deadline =
        args.time.seconds.map(|seconds| Instant::now() + Duration::from_secs_f64(seconds));
    let is_over = || deadline.is_some_and(|deadline| Instant::now() >= deadline);
    let mut ending = Ending::Code(0);
    let mut top = args.time.interval.map(|_| Top::new(args.view.top));
    match program {
        Some(program) => {
            let mut child = Child::spawn(&program, |_| {})?;
            output.program_started();
            let failed = |error| Error::new(format!("cannot wait for the program: {error}"));
            let mut counted = None;
            let mut helper = Some(helper);
            let status = loop {
                if let Some(status) = child.wait(POLL).map_err(failed)? {
                    break status;
                }
                // The measurement ends, the program goes on.
                if is_over()
                    && let Some(helper) = helper.take()
                {
                    counted = Some(helper.finish()?);
                }
                if let (Some(top), Some(helper)) = (&mut top, &helper) {
                    top.show(helper, &mut output)?;
                }
            };
            let counted = match helper {
                Some(helper) => helper.finish()?,
                None => counted.ok_or_else(|| Error::new("nothing was counted"))?,
            };
            ending = Ending::of_program(status);
            show(&counted, args, is_compat, &mut output)?;
        }
        None => {
            let signals = Signals::take()
                .map_err(|error| Error::new(format!("cannot prepare for signals: {error}")))?;
            output.note(&Error::new(match what {
                What::Kernel => "measuring the kernel's own locks; Ctrl-C ends it".to_owned(),
                What::System => "measuring the futexes of all processes; Ctrl-C ends it".to_owned(),
                What::Process(pid) => format!(
                    "measuring the futexes of process {pid}, until it ends; Ctrl-C ends it before"
                ),
            }));
            let is_gone = || match what {
                What::Process(pid) => has_ended(pid),
                _ => false,
            };
            while !is_over()
                && !is_gone()
                && !signals.pending().any(|signal| signal.ending().is_some())
            {
                std::thread::sleep(POLL);
                if let Some(top) = &mut top {
                    top.show(&helper, &mut output)?;
                }
            }
            let counted = helper.finish()?;
            drop(signals);
            show(&counted, args, is_compat, &mut output)?;
        }
    }
    Ok(ending)
}

fn show(counted: &Counted, args: &MeterArgs, is_compat: bool, output: &mut Sinks) -> Result<()> {
    let top = args.view.top;
    match &counted.rows {
        Message::Kernel(rows) => {
            let symbols = fs::read_to_string("/proc/kallsyms").unwrap_or_default();
            let report = build_kernel(rows, &Kallsyms::new(&symbols));
            write(&KernelLocks { report: &report, top, is_compat }, output)
        }
        Message::Futexes(rows) => {
            let report = build_futexes(rows, &Known::new(&counted.met));
            write(&FutexWaits { report: &report, top }, output)
        }
        other => Err(Error::new(format!("lockwright-bpf said {other:?} at its end"))),
    }
}

fn write(report: &dyn Report, output: &mut Sinks) -> Result<()> {
    let files = output.write_files(report);
    let shown = output.add(report);
    output.all(files.into_iter().chain([shown]))
}

/// Another user's process is root's alone to look into, whatever rights the helper has.
pub fn permitted(pid: u32) -> Result<()> {
    let proc = format!("/proc/{pid}");
    if !Path::new(&proc).exists() {
        return Err(Error::with_code(exit::NOT_FOUND, format!("there is no process {pid}"))
            .help("`pgrep -a NAME` lists processes with their ids"));
    }
    fs::File::open(format!("{proc}/mem")).map(drop).map_err(|error| {
        Error::new(format!("cannot look into process {pid}: {error}"))
            .help("run lockwright as root")
    })
}

fn has_ended(pid: u32) -> bool {
    let Ok(stat) = fs::read_to_string(format!("/proc/{pid}/stat")) else { return true };
    let state = stat.rsplit(')').next().map(str::trim_start);
    state.is_none_or(|state| state.starts_with(['Z', 'X']))
}
