//! include/lockwright/locks.h is made from the library's text, and says what that says.
//! `LOCKWRIGHT_BLESS=1` rewrites it.

#[path = "../../../tests/skip.rs"]
mod skip;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

const BEFORE: &str = "/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * lockwright/locks.h: the Linux kernel's locks for C and C++; link with -llockwright.
 *
 * Made from locks/capi/src: do not edit. docs/c-api.md tells how to use it.
 *
 * Functions return 0 or an errno value, as told at each; errno itself stays as it was. Times are absolute, of
 * CLOCK_MONOTONIC. A lock is free where its memory is zero, except a debug lock. It must not be copied, nor move while in use. All
 * locks are private to a process, and none is fit for signal handlers that interrupt its users.
 */";

const ALIGNED: &str = "\n#define LW_ALIGNED_(bytes) __attribute__((aligned(bytes)))";

const AFTER: &str =
    "/* Under ThreadSanitizer the functions tell it of each acquisition and release. */
#if defined(__SANITIZE_THREAD__)
#include \"tsan.h\"
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#include \"tsan.h\"
#endif
#endif";

/// Functions that order nothing between threads.
const SILENT: &[&str] = &[
    "lw_semaphore_init",
    "lw_completion_init",
    "lw_completion_reinit",
    "lw_condvar_init",
    "lw_condvar_signal",
    "lw_condvar_broadcast",
    "lw_hybrid_condvar_init",
    "lw_hybrid_condvar_signal",
    "lw_hybrid_condvar_broadcast",
    "lw_bkl_depth",
    "lw_ww_class_init",
    "lw_ww_ctx_init",
    "lw_seqlock_read_retry",
    "lw_lock_events_write",
    "lw_lock_event_count",
    "lw_lock_events_reset",
    "lw_local_irq_save",
    "lw_local_irq_restore",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the workspace")
}

/// The header as the text of the library has it; written down first if that is asked for.
fn made() -> &'static str {
    static MADE: OnceLock<String> = OnceLock::new();
    MADE.get_or_init(|| {
        let made = make();
        if std::env::var_os("LOCKWRIGHT_BLESS").is_some() {
            std::fs::write(path(), &made).expect("the header can be written");
        }
        made
    })
}

fn path() -> PathBuf {
    root().join("include/lockwright/locks.h")
}

fn make() -> String {
    let mut config = cbindgen::Config {
        language: cbindgen::Language::C,
        header: Some(BEFORE.into()),
        include_guard: Some("LOCKWRIGHT_LOCKS_H".into()),
        sys_includes: ["stdint.h", "time.h"].map(String::from).into(),
        no_includes: true,
        cpp_compat: true,
        documentation_style: cbindgen::DocumentationStyle::Doxy,
        style: cbindgen::Style::Both,
        tab_width: 8,
        line_length: 110,
        after_includes: Some(ALIGNED.into()),
        trailer: Some(AFTER.into()),
        ..Default::default()
    };
    config.export.rename.insert("timespec".into(), "struct timespec".into());
    config.layout.aligned_n = Some("LW_ALIGNED_".into());
    let mut out = Vec::new();
    cbindgen::Builder::new()
        .with_crate(env!("CARGO_MANIFEST_DIR"))
        .with_config(config)
        .generate()
        .expect("cbindgen reads the library's text")
        .write(&mut out);
    let text = String::from_utf8(out).expect("UTF-8");
    for_c(&with_initialisers(&text))
}

/// Comments as C has them: what fits is one line, and Rust's headings are sentences.
fn for_c(text: &str) -> String {
    let text = text.replace("(struct lw_", "(lw_").replace('`', "");
    let mut out = String::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let Some(indent) = line.strip_suffix("/**") else {
            writeln!(out, "{line}").expect("a string takes all");
            continue;
        };
        let of_comment = lines.by_ref().take_while(|line| line.trim_start() != "*/");
        // Further lines of an item of a list stay indented.
        let words: Vec<&str> = of_comment
            .map(|line| line.trim_start().trim_start_matches('*'))
            .map(|line| line.strip_prefix(' ').unwrap_or(line).trim_end())
            .collect();
        comment(&mut out, indent, &words);
    }
    out
}

fn comment(out: &mut String, indent: &str, lines: &[&str]) {
    let mut said = Vec::new();
    let mut lines = lines.iter().filter(|line| !line.is_empty());
    while let Some(line) = lines.next() {
        if *line == "# Safety" {
            let wanted = lines.next().expect("what is safe");
            said.push(format!("Wants: {}{}", wanted[..1].to_lowercase(), &wanted[1..]));
        } else {
            said.push((*line).to_owned());
        }
    }
    writeln!(out, "{indent}/* {} */", said.join(&format!("\n{indent} * "))).expect("as above");
}

/// Types that zeros are not values of: contexts begin at a time, and locks with checks by `init`.
const NOT_ZERO: &[&str] =
    &["ww_ctx", "debug_mutex", "debug_rtmutex", "debug_rwsem", "debug_spinlock"];

/// Each type with the initialiser of its variables, if zeros are one.
fn with_initialisers(text: &str) -> String {
    let mut out = String::new();
    for line in text.lines() {
        writeln!(out, "{line}").expect("a string takes all");
        let name = line.strip_prefix("} lw_").and_then(|rest| rest.strip_suffix("_t;"));
        if let Some(name) = name.filter(|name| !NOT_ZERO.contains(name)) {
            writeln!(out, "#define LW_{}_INIT {{{{0}}}}", name.to_uppercase()).expect("likewise");
        }
    }
    out
}

#[test]
fn the_header_is_up_to_date() {
    let made = made();
    let there = std::fs::read_to_string(path()).unwrap_or_default();
    assert!(
        there == made,
        "{} is not what the library has: run LOCKWRIGHT_BLESS=1 cargo test -p lockwright-capi --test header",
        path().display()
    );
}

/// Each function is annotated for ThreadSanitizer that takes a lock or gives it up.
#[test]
fn the_sanitizer_misses_no_function() {
    let told = std::fs::read_to_string(root().join("include/lockwright/tsan.h")).expect("tsan.h");
    let made = made();
    let functions = made.lines().filter_map(|line| {
        let line = line.strip_prefix("int ").or_else(|| line.strip_prefix("uint32_t "))?;
        line.split_once('(')
    });
    let untold: Vec<&str> = functions
        .map(|(function, _)| function)
        .filter(|function| {
            !SILENT.contains(function) && !told.contains(&format!("#define {function}("))
        })
        .collect();
    assert!(untold.is_empty(), "not in tsan.h: {untold:?}");
}

/// Nothing to warn of, in each language and version that users may have, by both compilers.
#[test]
fn headers_are_clean_c_and_cxx() {
    made();
    for (compiler, language) in [
        (["gcc", "clang"], &["-xc", "-std=c11"]),
        (["gcc", "clang"], &["-xc", "-std=gnu17"]),
        (["g++", "clang++"], &["-xc++", "-std=c++11"]),
        (["g++", "clang++"], &["-xc++", "-std=c++17"]),
    ] {
        let clients =
            if language[0] == "-xc" { &["header.c"][..] } else { &["header.c", "header.cc"] };
        for compiler in compiler {
            for sanitize in [&[][..], &["-fsanitize=thread"]] {
                for client in clients {
                    compile(compiler, language, sanitize, client);
                }
            }
        }
    }
}

#[test]
fn the_example_of_the_documentation_compiles() {
    made();
    let page = std::fs::read_to_string(root().join("docs/c-api.md")).expect("docs/c-api.md");
    let (_, rest) = page.split_once("```c\n").expect("an example");
    let (example, _) = rest.split_once("```").expect("its end");
    let source = Path::new(env!("CARGO_TARGET_TMPDIR")).join("example.c");
    std::fs::write(&source, example).expect("a source file");
    compile_file("gcc", &["-std=gnu11"], &[], &source);
}

fn compile(compiler: &str, language: &[&str], sanitize: &[&str], client: &str) {
    let client = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients").join(client);
    compile_file(compiler, language, sanitize, &client);
}

fn compile_file(compiler: &str, language: &[&str], sanitize: &[&str], source: &Path) {
    let mut command = Command::new(compiler);
    command.args(language).args([
        "-pedantic",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-c",
        "-o",
        "/dev/null",
    ]);
    command.args(sanitize).arg("-I").arg(root().join("include")).arg(source);
    let out = match command.output() {
        Ok(out) => out,
        Err(error) => {
            assert!(std::env::var_os("LOCKWRIGHT_CI").is_none(), "{compiler}: {error}");
            skip::skip(&format!("{compiler}: {error}"));
            return;
        }
    };
    assert!(out.status.success(), "{command:?}:\n{}", String::from_utf8_lossy(&out.stderr));
}
