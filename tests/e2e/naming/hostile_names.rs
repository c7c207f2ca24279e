//! Names that would command a terminal, forge a line of a log or end a document early: of locks, threads,
//! functions, source files, programs and arguments. They go through every output, and none comes out raw.

use std::ffi::{OsStr, OsString};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::harness::{FOUND, Scratch, copy_program, files, run, tests_dir, tool};
use crate::plain_output::{hostile_word, is_plain, tool_is_plain};

/// Harmless to a test, and to a reader of its source: each kind of control once.
const NAMES: &[&[u8]] = &[
    b"\x1b]0;title\x07\x1b[2J\x1b[35;5m",
    b"new\nline ::error::forged",
    b"\r::set-output name=a::b",
    b"\n::stop-commands::tok",
    b"\x7f\xc2\x9b31m\xc2\x85",
    "\u{202e}evil\u{202c}\u{2066}iso\u{2069}".as_bytes(),
    "\u{2028}\u{2029}sep\u{200f}\u{feff}".as_bytes(),
    b"\xff\xfebad utf8\xed\xa0\x80",
    b"\t tab;semicolon\x0b\x0c",
    b"\"quote'\\back\\",
    b"]]>--><![CDATA[</script><script>",
    b"`tick`|pipe|%0A::error::forged",
];

/// A string of C.
fn literal(name: &[u8]) -> String {
    format!("\"{}\"", name.iter().map(|byte| format!("\\{byte:03o}")).collect::<String>())
}

/// A symbol as long as any name.
fn symbol(index: usize) -> String {
    format!("function_{index:02}_{}", "_".repeat(48))
}

/// Each name is that of two locks taken in both orders, of a thread and of a function.
fn source() -> String {
    use std::fmt::Write;
    let mut text = String::from(
        "#include <lockwright.h>\n#include <pthread.h>\n#include <stdio.h>\n#include <sys/prctl.h>\n\
         #include <unistd.h>\n",
    );
    let literals: Vec<String> = NAMES.iter().map(|name| literal(name)).collect();
    let _ = writeln!(text, "static const char *names[] = {{{}}};", literals.join(","));
    text += "enum { COUNT = sizeof names / sizeof *names };\n\
             static pthread_mutex_t a[COUNT], b[COUNT];\n";
    for index in 0..NAMES.len() {
        let _ = writeln!(
            text,
            "__attribute__((noinline)) void {}(int turned) {{\n\
             pthread_mutex_lock(turned ? &b[{index}] : &a[{index}]);\n\
             pthread_mutex_lock(turned ? &a[{index}] : &b[{index}]);\n\
             pthread_mutex_unlock(&a[{index}]); pthread_mutex_unlock(&b[{index}]); }}",
            symbol(index)
        );
    }
    let all: Vec<String> = (0..NAMES.len()).map(symbol).collect();
    let _ = writeln!(text, "static void (*functions[])(int) = {{{}}};", all.join(","));
    text += "static void *thread(void *turned) {\n\
             for (int i = 0; i < COUNT; i++) { prctl(PR_SET_NAME, names[i]); functions[i](turned != 0); }\n\
             return 0; }\n\
             int main(int argc, char **argv) {\n\
             (void)argv;\n\
             for (int i = 0; i < COUNT; i++) {\n\
             char other[200];\n\
             pthread_mutex_init(&a[i], 0); pthread_mutex_init(&b[i], 0);\n\
             lw_set_name(&a[i], names[i]);\n\
             snprintf(other, sizeof other, \"%s2\", names[i]); lw_set_name(&b[i], other); }\n\
             pthread_t x, y;\n\
             pthread_create(&x, 0, thread, 0); pthread_create(&y, 0, thread, argv);\n\
             pthread_join(x, 0); pthread_join(y, 0);\n\
             if (argc > 2) { prctl(PR_SET_NAME, names[0]); puts(\"waits\"); fflush(stdout); pause(); }\n\
             return 0; }\n";
    text
}

/// The program under a hostile name, with its functions renamed: a compiler would refuse them.
fn build(folder: &Path) -> PathBuf {
    let (code, plain) = (folder.join("code.c"), folder.join("plain"));
    fs::write(&code, source()).expect("a source");
    let mut cc = Command::new("cc");
    cc.args(["-g", "-O1", "-pthread", "-I"]).arg(tests_dir().join("../include"));
    assert!(cc.arg(&code).arg("-o").arg(&plain).status().expect("a compiler").success());
    let mut bytes = fs::read(&plain).expect("a program");
    for (index, name) in NAMES.iter().enumerate() {
        let old = symbol(index).into_bytes();
        let mut new = name.to_vec();
        new.resize(old.len(), b'_');
        replace(&mut bytes, &old, &new);
    }
    let (patched, program) = (folder.join("patched"), folder.join(hostile_word()));
    fs::write(&patched, bytes).expect("a program");
    fs::set_permissions(&patched, Permissions::from_mode(0o755)).expect("a mode");
    copy_program(&patched, &program);
    program
}

fn replace(bytes: &mut [u8], old: &[u8], new: &[u8]) {
    let mut from = 0;
    while let Some(at) = bytes[from..].windows(old.len()).position(|window| window == old) {
        bytes[from + at..from + at + old.len()].copy_from_slice(new);
        from += at + old.len();
    }
}

fn words<'w>(words: &'w [&'w str]) -> Vec<&'w OsStr> {
    words.iter().map(OsStr::new).collect()
}

#[test]
fn hostile_names_come_out_plain_in_every_output() {
    let scratch = Scratch::new();
    let program = build(scratch.path());
    let kept = scratch.join("kept");
    let made = scratch.join("made");
    fs::create_dir(&kept).and_then(|()| fs::create_dir(&made)).expect("folders");
    let hostile = hostile_word();

    for _ in 0..2 {
        let mut record = tool();
        record.args(["run", "--keep", "--instances", "--ledger-dir"]).arg(&kept);
        record.arg("--").arg(&program).arg(&hostile);
        let recorded = run(record);
        is_plain("stderr of run", recorded.stderr.as_bytes(), false);
        assert!(recorded.stderr.contains("circular-dependency"), "{}", recorded.stderr);
    }
    let runs = fs::read_dir(&kept).expect("a folder").map(|run| run.expect("a run").path());
    let runs: Vec<PathBuf> = runs.filter(|path| path.is_dir()).collect();
    assert_eq!(runs.len(), 2, "{runs:?}");
    let (ledger, other) = (runs[0].as_os_str(), runs[1].as_os_str());

    let file =
        |option: &str, name: &str| OsString::from(format!("{option}={}/{name}", made.display()));
    let mut all = words(&["report", "--all", "--all-instances", "--stats", "--github"]);
    let options = [
        file("--json", "json"),
        file("--html", "html"),
        file("--sarif", "sarif"),
        file("--junit", "junit"),
        file("--markdown", "markdown"),
        file("--gen-suppressions", "suppressions"),
        file("--write-baseline", "baseline"),
        file("--folded=wait", "wait"),
        file("--folded=hold", "hold"),
        file("--openmetrics", "openmetrics"),
        file("--pprof", "pprof"),
    ];
    all.extend(options.iter().map(OsString::as_os_str));
    all.push(ledger);
    assert_eq!(tool_is_plain(&all), FOUND);
    for listing in [
        "--classes",
        "--chains",
        "--graph",
        "--compat=lockmeter",
        "--compat=lock_stat",
        "--gen-suppressions",
    ] {
        tool_is_plain(&[OsStr::new("report"), OsStr::new(listing), ledger]);
    }
    let text = file("--output", "text");
    tool_is_plain(&[OsStr::new("report"), &text, ledger]);
    for command in ["merge", "diff"] {
        let (json, html) = (
            file("--json", &format!("{command}.json")),
            file("--html", &format!("{command}.html")),
        );
        let separator = if command == "diff" { Some(OsStr::new("--")) } else { None };
        let mut words = vec![OsStr::new(command), &json, &html, ledger];
        words.extend(separator);
        words.push(other);
        tool_is_plain(&words);
    }
    let mut doctor = words(&["doctor", "--json"]);
    let json = made.join("doctor.json");
    doctor.extend([json.as_os_str(), program.as_os_str()]);
    tool_is_plain(&doctor);

    let written = files(&made);
    assert!(written.len() >= 16, "{written:?}");
    for path in written {
        let bytes = fs::read(&path).expect("a file");
        // Nobody need have waited.
        let is_wait = path.file_name() == Some(OsStr::new("wait"));
        assert!(is_wait || !bytes.is_empty(), "{}", path.display());
        // Compressed; its strings are tested where it is made.
        if path.file_name() != Some(OsStr::new("pprof")) {
            let colour = path.file_name() == Some(OsStr::new("text"));
            is_plain(&path.display().to_string(), &bytes, colour);
        }
    }
    // Documents are whole: what is escaped is read back.
    for name in ["json", "sarif", "merge.json", "diff.json", "doctor.json"] {
        let text = fs::read(made.join(name)).expect("a document");
        let _: serde_json::Value = serde_json::from_slice(&text).expect("JSON");
    }
    let report = fs::read_to_string(made.join("json")).expect("a document");
    let report: serde_json::Value = serde_json::from_str(&report).expect("JSON");
    assert!(report.to_string().contains("\\u001b]0;title\\u0007"), "JSON keeps the names");
}

/// The program that hangs about is looked at as it is.
#[test]
fn hostile_names_of_a_running_process_come_out_plain() {
    let scratch = Scratch::new();
    let program = build(scratch.path());
    let mut child = Command::new(&program);
    child.arg(hostile_word()).arg("wait").stdout(Stdio::piped());
    let mut child = child.spawn().expect("the program");
    let mut line = [0; 6];
    std::io::Read::read_exact(child.stdout.as_mut().expect("a pipe"), &mut line).expect("a line");
    let pid = child.id().to_string();
    tool_is_plain(&words(&["check", "--pid", &pid]));
    tool_is_plain(&words(&["doctor", "--pid", &pid]));
    let _ = child.kill();
    let _ = child.wait();
}

#[test]
fn errors_quote_what_the_user_typed_without_its_controls() {
    let hostile = hostile_word();
    let text = "w\u{1b}[2J\u{1b}[35;5m\n::error::forged\u{7f}\u{9b}31m\u{202e}";
    let word = hostile.as_os_str();
    let commands =
        ["check", "meter", "run", "swap", "report", "merge", "diff", "demo", "doctor", "tune"];
    let mut failed = 0;
    let mut fails = |words: &[&OsStr]| failed += i32::from(tool_is_plain(words) != 0);
    fails(&[word]);
    for command in commands {
        let option = OsString::from(format!("--{text}"));
        let command = OsStr::new(command);
        fails(&[command, &option]);
        fails(&[command, word]);
        fails(&[command, OsStr::new("--color"), OsStr::new(text)]);
        fails(&[command, OsStr::new("--"), word]);
        fails(&[command, word, OsStr::new("--"), word]);
    }
    for option in [
        "--output",
        "--json",
        "--html",
        "--sarif",
        "--junit",
        "--markdown",
        "--suppressions",
        "--baseline",
        "--ledger-dir",
    ] {
        // No folder can be made there.
        let folder = OsString::from(format!("/dev/null/{text}"));
        fails(&[
            OsStr::new("check"),
            OsStr::new(option),
            &folder,
            OsStr::new("--"),
            OsStr::new("true"),
        ]);
    }
    for (command, option) in [
        ("swap", "--lock"),
        ("swap", "--only"),
        ("tune", "--locks"),
        ("diff", "--fail-if"),
        ("meter", "--pid"),
        ("check", "--hang-after"),
        ("report", "--folded"),
    ] {
        let words = [command, option, text, "--", "true"];
        fails(&words.map(OsStr::new));
    }
    assert!(failed > 50, "{failed} of these are errors");
}
