//! `lockwright-lab sim`: locks on a machine that is not there.

mod explore;
mod fault;
mod figures;
mod libraries;
mod list;
mod plot;
mod shape;
mod truth;

use lockwright_sim::locks::Kind;
use lockwright_sim::machine::{self, Machine};
use lockwright_sim::workload::{Run, Workload};
use lockwright_sim::{Config, Tell};

use self::fault::{FAILED, unknown};
use self::figures::Row;
use self::plot::Plot;
use self::shape::Shape;
use crate::args::SimArgs;
use lockwright_console::error::{Error, Result, exit};
use lockwright_console::status::Status;
use lockwright_console::streams::Streams;

/// The locks of Long's 2017 pvqspinlock patch.
const LOCKS: &[&str] = &["hybrid", "pvqlock", "unfair"];

/// How large a machine's file can be, in bytes.
const MOST_TEXT: u64 = 1 << 20;

/// Runs the command.
///
/// # Errors
/// If nothing is called so, the machine's file is wrong, or a file cannot be written.
pub fn run(args: &SimArgs) -> Result<u8> {
    let mut output = Streams::open(&args.output)?;
    let libraries = libraries::load(&args.lock_library)?;
    if args.list {
        output.list(&list::text(&libraries))?;
        return Ok(0);
    }
    if args.explore.explore {
        return explore::run(args, &libraries, &mut output);
    }
    if let Some(seconds) = args.truth {
        let truth = truth::compare(seconds, args.seed);
        output.write_json_text(&format!("{:#}\n", truth.json()))?;
        output.list(&truth.text())?;
        return Ok(if truth.has_failed() { FAILED } else { 0 });
    }
    let text = machine_text(&args.machine)?;
    let machine = machine::parse(&args.machine, &text)
        .map_err(|wrong| Error::with_code(exit::USAGE, format!("no machine: {wrong}")))?;
    if args.print_machine {
        output.list(&text)?;
        return Ok(0);
    }
    let workload =
        Workload::named(&args.workload).ok_or_else(|| unknown("workload", &args.workload))?;
    let own: Vec<Kind> = libraries.into_iter().map(Kind::of_library).collect();
    let locks = locks(args, workload, &own)?;
    let shapes = shapes(args, &machine)?;
    let plot = args.plot.as_deref().map(|path| Plot::open(path, &shapes)).transpose()?;
    let mut rows = Vec::new();
    let total = shapes.len() * locks.len();
    let status = Status::of(total);
    for shape in &shapes {
        for lock in &locks {
            let (done, threads) = (rows.len(), shape.threads);
            let next = format!("{lock}, {threads} threads: {} of {total}", done + 1);
            let tell = status.begin(done, &next);
            let config = Config {
                cpus: Some(shape.cpus),
                guest: args.vcpus.is_some(),
                seed: args.seed,
                tell: Tell::by(tell),
                ..Config::new(machine.clone())
            };
            let length = (args.seconds * lockwright_sim::SECOND as f64).round() as u64;
            let libraries = own.clone();
            let run = Run { config, threads: shape.threads, length, libraries };
            let figures = workload.run(&run, lock).map_err(|lock| unknown("lock", &lock.0))?;
            let is_own = own.iter().any(|kind| kind.name == lock);
            rows.push(Row { lock: lock.clone(), is_own, shape: *shape, figures });
        }
    }
    drop(status);
    let page = figures::Page { args, machine: &machine, rows: &rows };
    output.write_json_text(&format!("{:#}\n", page.json()))?;
    output.list(&page.text())?;
    if let Some(plot) = plot {
        plot.write(&page)?;
    }
    Ok(if rows.iter().any(Row::has_failed) { FAILED } else { 0 })
}

/// Those of all runs.
fn shapes(args: &SimArgs, machine: &Machine) -> Result<Vec<Shape>> {
    let most = machine.cpus();
    let in_machine = |cpus: u32| match cpus <= most {
        true => Ok(cpus),
        false => {
            let wrong = format!("{} has {most} CPUs, not {cpus}", machine.name);
            Err(Error::with_code(exit::USAGE, wrong).help(machines_with(cpus)))
        }
    };
    if let Some(sweep) = args.sweep {
        let each = |cpus| in_machine(cpus).map(|cpus| Shape { threads: cpus, cpus });
        return sweep.numbers().into_iter().map(each).collect();
    }
    let cpus = in_machine(args.cpus.unwrap_or(most))?;
    let threads = args.vcpus.as_ref().or(args.threads.as_ref());
    let threads = threads.map_or_else(|| vec![cpus], Clone::clone);
    Ok(threads.into_iter().map(|threads| Shape { threads, cpus }).collect())
}

/// The advice to a user who wants so many CPUs.
fn machines_with(cpus: u32) -> String {
    let has = |preset: &&machine::Preset| {
        machine::parse(preset.name, preset.text).is_ok_and(|machine| machine.cpus() >= cpus)
    };
    let names: Vec<&str> = machine::PRESETS.iter().filter(has).map(|preset| preset.name).collect();
    match &names[..] {
        [] => "write a machine that has: `lockwright-lab sim --print-machine` shows how".to_owned(),
        names => format!("these have: --machine {}", names.join(", --machine ")),
    }
}

/// The names of locks, all known.
fn locks(args: &SimArgs, workload: &Workload, libraries: &[Kind]) -> Result<Vec<String>> {
    let mut known = workload.locks();
    let own: Vec<&str> = libraries.iter().map(|kind| kind.name).collect();
    if workload.shapes.is_none() {
        known.extend(&own);
    } else if let Some(name) = own.first() {
        return Err(Error::with_code(
            exit::USAGE,
            format!("workload `{}` has locks of its own: it cannot take `{name}`", workload.name),
        ));
    }
    let Some(chosen) = &args.lock else {
        let default = if workload.shapes.is_some() {
            &known[..]
        } else if own.is_empty() {
            LOCKS
        } else {
            &own[..]
        };
        return Ok(default.iter().map(|&name| name.to_owned()).collect());
    };
    match chosen.iter().find(|name| !known.contains(&name.as_str())) {
        None => Ok(chosen.clone()),
        Some(name) => Err(Error::with_code(
            exit::USAGE,
            format!("workload `{}` has no lock `{name}`", workload.name),
        )
        .help(format!("it has: {}", known.join(", ")))),
    }
}

/// The text of a machine, by name or of a file.
fn machine_text(name: &str) -> Result<String> {
    let preset = machine::PRESETS.iter().find(|preset| preset.name == name);
    if let Some(preset) = preset {
        return Ok(preset.text.to_owned());
    }
    if !name.contains('/') && !name.ends_with(".toml") {
        return Err(unknown("machine", name));
    }
    let unread = |why: &dyn std::fmt::Display| {
        Error::with_code(exit::USAGE, format!("cannot read the machine {name}: {why}"))
    };
    let about = std::fs::metadata(name).map_err(|error| unread(&error))?;
    if !about.is_file() || about.len() > MOST_TEXT {
        return Err(unread(&"it is no regular file of at most 1 MiB"));
    }
    std::fs::read_to_string(name).map_err(|error| unread(&error))
}
