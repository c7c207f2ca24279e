//! Programs that pack in several threads: unpacked, it is what it was.

use std::fs;
use std::path::Path;

use super::Arm;
use crate::harness::{Job, Run, Scratch, native};
use crate::programs::write_text;

/// What is said if a packed file is not what it should be.
pub const LOSS: &str = "unpacked, it is not what was packed";

pub fn zstd(arm: &Arm) {
    round_trips(arm, &["-q", "-T4", "-3", "-c"], &["-q", "-d", "-c"]);
}

pub fn xz(arm: &Arm) {
    round_trips(arm, &["-T4", "-0", "--block-size=1MiB", "-c"], &["-T4", "-d", "-c"]);
}

pub fn pigz(arm: &Arm) {
    round_trips(arm, &["-p", "4", "-n", "-c"], &["-d", "-c"]);
}

fn round_trips(arm: &Arm, pack: &[&str], unpack: &[&str]) {
    let scratch = Scratch::new();
    let (text, packed) = (scratch.join("text"), scratch.join("packed"));
    write_text(&text);
    let rounds = arm.rounds(|_| {
        let made = arm.job().args(pack).arg(&text).run();
        arm.ended(&made);
        let mut bytes = made.stdout;
        if arm.loses {
            bytes.truncate(bytes.len() / 2);
        }
        fs::write(&packed, bytes).expect("room for it");
        let job = arm.job().args(unpack);
        let run: Run = read(job, &packed).run();
        let same = run.code() == 0 && run.stdout == fs::read(&text).expect("still there");
        assert!(same, "{LOSS}: {}", run.stderr);
    });
    eprintln!("{} on {:?}: {rounds} rounds", arm.executable.display(), arm.lock);
}

/// From its standard input, as names without the usual ending are refused.
fn read(job: Job, packed: &Path) -> Job {
    job.stdin(fs::read(packed).expect("written"))
}

pub fn ffmpeg(arm: &Arm) {
    const PICTURE: &str = "testsrc=duration=4:size=320x240:rate=25,format=yuv420p";
    let quiet = ["-nostdin", "-v", "error", "-bitexact"];
    let sums = ["-f", "framemd5", "-"];
    let source = ["-f", "lavfi", "-i", PICTURE];
    let expected = native(&arm.executable).args(quiet).args(source).args(sums).run();
    assert_eq!(expected.code(), 0, "{}", expected.stderr);
    let scratch = Scratch::new();
    let file = scratch.join("film.mkv");
    let rounds = arm.rounds(|_| {
        let job = arm.job().args(quiet).args(["-y"]).args(source);
        let job =
            job.args(["-c:v", "libx264", "-qp", "0", "-preset", "ultrafast", "-threads", "4"]);
        let job = job.args(if arm.loses { &["-frames:v", "99"] as &[_] } else { &[] });
        arm.ended(&job.arg(&file).run());
        let job = arm.job().args(quiet).args(["-threads", "4", "-i"]).arg(&file);
        let run = job.args(sums).run();
        arm.ended(&run);
        let frames = |run: &Run| -> Vec<String> {
            let text = run.text();
            let lines = text.lines().filter(|line| !line.starts_with('#'));
            lines.filter_map(|line| Some(line.rsplit(',').next()?.trim().to_owned())).collect()
        };
        assert_eq!(frames(&run), frames(&expected), "the frames are not those that were packed");
    });
    eprintln!("ffmpeg on {:?}: {rounds} rounds", arm.lock);
}
