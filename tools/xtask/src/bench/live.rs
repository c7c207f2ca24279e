//! `cargo xtask bench live`: what it costs a program under `lockwright meter` that somebody looks at it while it runs: `top`, a
//! timeline, profiles pushed to a server.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Map, Value, json};

use super::arm::{Bench, said};
use super::comparison::{BenchOptions, conclude, machine};
use super::fresh_folder::fresh_folder;
use super::table;
use lockwright_measure::stats::{self, Estimate};

/// What may be added to `meter`: 3 %.
const AIM: f64 = 1.03;

/// How long a run lasts, ms: looks come once a second.
const RUN_MS: &str = "4000";
const SMOKE_MS: &str = "300";

/// What is done besides measuring.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Look {
    Nothing,
    Top,
    Timeline,
    Push,
}

/// All of it, by its name.
const LOOKS: [(Look, &str); 3] =
    [(Look::Top, "top"), (Look::Timeline, "--timeline"), (Look::Push, "--push")];

/// Runs "$@" under `meter`, and `top` once a second on what it records.
const WITH_TOP: &str = r#"
    "$LOCKWRIGHT" meter --output /dev/null --ledger-dir "$LEDGERS" -- "$@" & run=$!
    until set -- "$LEDGERS"/*-* && [ -d "$1" ]; do sleep 0.02; done
    until "$LOCKWRIGHT" top --interval 1 --json /dev/null "$1" 2>/dev/null || ! kill -0 $run; do sleep 0.05; done & top=$!
    wait $run; code=$?
    kill $top 2>/dev/null; wait $top; exit $code"#;

/// A program and its arguments; it prints a time.
struct Measured {
    name: &'static str,
    unit: &'static str,
    program: PathBuf,
    arguments: Vec<&'static str>,
}

/// One program with each look.
struct Line {
    name: &'static str,
    unit: &'static str,
    /// Under `meter` alone.
    alone: f64,
    /// How many times as long it takes.
    ratios: [Estimate; LOOKS.len()],
}

/// Runs it.
pub fn run(bench: &'static Bench, options: &BenchOptions) -> Result<(), String> {
    let rounds = if options.smoke { 2 } else { usize::from(options.rounds) };
    let milliseconds = if options.smoke { SMOKE_MS } else { RUN_MS };
    let machine = machine();
    let address = serve()?;
    let mut skipped = Vec::new();
    let mut programs = Vec::new();
    for (name, unit, source, flags, arguments) in [
        (
            "mutex pair, one lock, 4 threads",
            "ns/round",
            "locks",
            &[][..],
            vec!["shared", "4", milliseconds],
        ),
        (
            "SQLite, 2 shared connections, 4 threads",
            "ns/statement",
            "sqlite",
            &["-lsqlite3"],
            vec![milliseconds],
        ),
    ] {
        if options.only.as_ref().is_some_and(|only| !name.contains(only.as_str())) {
            continue;
        }
        match bench.build(source, flags) {
            Ok(program) => programs.push(Measured { name, unit, program, arguments }),
            Err(why) => skipped.push((name.to_owned(), why)),
        }
    }
    let mut lines = Vec::new();
    for program in &programs {
        eprintln!("{} ...", program.name);
        lines.push(compare(bench, program, &address, rounds)?);
    }
    print!("{}", text(&machine, &lines, rounds, &skipped));
    conclude(options, &to_json(&machine, &lines, rounds), skipped.is_empty())
}

fn compare(
    bench: &Bench,
    program: &Measured,
    address: &str,
    rounds: usize,
) -> Result<Line, String> {
    let mut alone = Vec::new();
    let mut ratios: [Vec<f64>; LOOKS.len()] = Default::default();
    for round in 0..rounds {
        let mut order = vec![Look::Nothing];
        order.extend(LOOKS.map(|(look, _)| look));
        let looks = order.len();
        // The arms take turns to go first: a later one may find a hotter processor.
        order.rotate_left(round % looks);
        let mut measured = Vec::new();
        for look in order {
            let mut command = command(bench, look, program, address)?;
            let text = said(&mut command).map_err(|why| format!("{}: {why}", program.name))?;
            let time = text.split_whitespace().next().and_then(|word| word.parse::<f64>().ok());
            measured.push((look, time.ok_or_else(|| format!("not a number: {text}"))?));
        }
        let of = |look| measured.iter().find(|(it, _)| *it == look).map(|(_, time)| *time);
        let base = of(Look::Nothing).ok_or("no run without a look")?;
        alone.push(base);
        for (ratios, (look, _)) in ratios.iter_mut().zip(LOOKS) {
            ratios.extend(of(look).map(|time| time / base));
        }
    }
    Ok(Line {
        name: program.name,
        unit: program.unit,
        alone: stats::median(&alone),
        ratios: ratios.map(|sample| stats::estimate(&sample)),
    })
}

fn command(
    bench: &Bench,
    look: Look,
    program: &Measured,
    address: &str,
) -> Result<Command, String> {
    let ledgers = fresh_folder(bench.work.join("live"))?;
    let timeline = bench.work.join("live.pftrace");
    if look == Look::Top {
        let mut command = Command::new("sh");
        command.args(["-c", WITH_TOP, "sh"]).arg(&program.program).args(&program.arguments);
        command.env("LOCKWRIGHT", &bench.lockwright).env("LEDGERS", ledgers);
        return Ok(command);
    }
    let mut command = Command::new(&bench.lockwright);
    command.args(["meter", "--output", "/dev/null", "--ledger-dir"]).arg(ledgers);
    match look {
        Look::Timeline => drop(command.arg("--timeline").arg(Path::new(&timeline))),
        Look::Push => {
            let url = format!("ingest+http://{address}");
            command.args(["--push", &url, "--push-interval", "1s"]);
        }
        Look::Nothing | Look::Top => {}
    }
    command.arg("--").arg(&program.program).args(&program.arguments);
    Ok(command)
}

/// Starts a server that takes everything; it ends with this process. Returns its address.
fn serve() -> Result<String, String> {
    let listener = TcpListener::bind("127.0.0.1:0").map_err(|e| format!("no server: {e}"))?;
    let address = listener.local_addr().map_err(|e| e.to_string())?;
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            // A client that is gone is none to answer.
            let _ = take(&stream);
        }
    });
    Ok(address.to_string())
}

fn take(stream: &TcpStream) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    let (mut length, mut line) = (0, String::new());
    loop {
        line.clear();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.split_once(':') else {
            if line.trim().is_empty() { break } else { continue }
        };
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse().unwrap_or(0);
        }
    }
    std::io::copy(&mut reader.take(length), &mut std::io::sink())?;
    let mut stream = stream;
    stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
}

fn text(
    machine: &Map<String, Value>,
    lines: &[Line],
    rounds: usize,
    skipped: &[(String, String)],
) -> String {
    let mut out = table::facts(machine);
    // Writing to a String cannot fail.
    let _ = writeln!(
        out,
        "\n{:<40} {:>16}  {:<28} {:<28} {:<28}",
        "times of `lockwright meter`", "meter", "top", "--timeline", "--push"
    );
    for line in lines {
        let alone = format!("{:.1} {}", line.alone, line.unit.split('/').next().unwrap_or(""));
        let _ = write!(out, "{:<40} {alone:>16} ", line.name);
        for ratio in &line.ratios {
            let Estimate { median, low, high, .. } = ratio;
            let verdict = table::verdict(ratio, AIM);
            let _ = write!(out, " {:<28}", format!("{median:.3} ({low:.3}-{high:.3}){verdict}"));
        }
        out.push('\n');
    }
    let _ = writeln!(
        out,
        "{rounds} rounds, arms interleaved; ratios to `meter` are medians, with intervals of 95 % confidence where \
         there are\nrounds enough. The aim is {AIM}."
    );
    for (name, why) in skipped {
        let _ = writeln!(out, "\nskipped: {name}: {}", why.trim());
    }
    out
}

fn to_json(machine: &Map<String, Value>, lines: &[Line], rounds: usize) -> Value {
    let line = |line: &Line| {
        let ratio = |((_, name), r): (&(Look, &str), &Estimate)| {
            let Estimate { median, low, high, confidence } = r;
            let value =
                json!({ "ratio": median, "low": low, "high": high, "confidence": confidence });
            ((*name).to_owned(), value)
        };
        let ratios: Map<String, Value> = LOOKS.iter().zip(&line.ratios).map(ratio).collect();
        json!({ "name": line.name, "unit": line.unit, "meter": line.alone, "ratios": ratios })
    };
    let results: Vec<_> = lines.iter().map(line).collect();
    json!({ "machine": machine, "rounds": rounds, "aim": AIM, "results": results })
}
