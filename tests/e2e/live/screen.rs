//! `lockwright top` at a terminal: tmux is the terminal, and the user.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};

use super::snapshots::{Staged, Unwatched};
use crate::harness::{Scratch, installed, is_alive, program, signal, until};

/// A terminal with a shell that runs one command in it, says "left N", and waits.
struct Terminal {
    socket: String,
    scratch: Scratch,
}

impl Terminal {
    /// Runs `lockwright top` with these arguments; `None` where there is no tmux.
    fn top(arguments: &[&str], environment: &str) -> Option<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        installed(&["tmux"], "tmux")?;
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let socket = format!("lockwright-{}-{number}", std::process::id());
        let scratch = Scratch::new();
        let at = |name: &str| scratch.join(name).display().to_string();
        let script = format!(
            "stty -a > {}; echo before; {environment} {} top {}; echo left $?; stty -a > {}; echo after; sleep 1000",
            at("before"),
            crate::TOOL,
            arguments.join(" "),
            at("after")
        );
        let terminal = Self { socket, scratch };
        // Whatever terminal the tests run in.
        terminal.tmux(&["new-session", "-d", "-x", "120", "-y", "30", "sh", "-c", &script]);
        Some(terminal)
    }

    fn tmux(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new("tmux");
        command.args(["-f", "/dev/null", "-L", &self.socket]).args(arguments);
        command.env("TERM", "xterm-256color").env_remove("NO_COLOR").env_remove("TMUX");
        command.output().expect("tmux")
    }

    fn shown(&self) -> String {
        String::from_utf8_lossy(&self.tmux(&["capture-pane", "-p"]).stdout).into_owned()
    }

    fn press(&self, keys: &[&str]) {
        self.tmux(&[&["send-keys"], keys].concat());
    }

    /// Waits until the screen has all of these.
    fn until(&self, wanted: &[&str]) -> String {
        until(&format!("{wanted:?} on the screen"), || {
            let shown = self.shown();
            wanted.iter().all(|text| shown.contains(text)).then_some(shown)
        })
    }

    /// The process that has the screen.
    fn pid(&self) -> u32 {
        let pane = self.tmux(&["display-message", "-p", "#{pane_pid}"]).stdout;
        let pane = String::from_utf8_lossy(&pane).trim().to_owned();
        until("the tool", || {
            let children = format!("/proc/{pane}/task/{pane}/children");
            let children = fs::read_to_string(children).ok()?;
            children.split_whitespace().next()?.parse().ok()
        })
    }

    /// The program that the tool has started.
    fn program(&self) -> u32 {
        until("the program", || {
            let children = format!("/proc/{0}/task/{0}/children", self.pid());
            let children = fs::read_to_string(children).ok()?;
            let mut pids = children.split_whitespace().map(|pid| pid.parse().unwrap());
            pids.find(|pid| {
                let command = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
                String::from_utf8_lossy(&command).contains("stages")
            })
        })
    }

    /// The terminal's settings are what they were before.
    fn is_given_back(&self) -> bool {
        let read = |name: &str| fs::read_to_string(self.scratch.join(name)).unwrap_or_default();
        !read("after").is_empty() && read("before") == read("after")
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let socket = self.tmux(&["display-message", "-p", "#{socket_path}"]).stdout;
        self.tmux(&["kill-server"]);
        let _ = fs::remove_file(String::from_utf8_lossy(&socket).trim());
    }
}

fn stages(folder: &Path) -> String {
    format!("{} {}", program("stages.c").display(), folder.display())
}

#[test]
fn locks_are_shown_sorted_and_opened() {
    let scratch = Scratch::new();
    let options = ["--interval", "0.2", "--", &stages(scratch.path())];
    let Some(terminal) = Terminal::top(&options, "") else { return };
    let shown = terminal.until(&["journal", "table", "TREND", "writer"]);
    assert!(shown.contains("lockwright top: ") && shown.contains("no findings"), "{shown}");
    terminal.press(&[">"]);
    terminal.until(&["sorted by held"]);
    terminal.press(&["<", "<", "<", "<"]);
    terminal.until(&["sorted by name"]);
    // By name it is the first.
    terminal.press(&["Home", "Enter"]);
    let shown = terminal.until(&["HELD NOW BY", "TAKEN IN", "append (", "stages.c"]);
    assert!(shown.contains("pthread_mutex_lock(&journal)"), "the source line: {shown}");
    terminal.press(&["Escape", "2"]);
    terminal.until(&["TID", "patient", "waits for `table`"]);
    terminal.press(&["3"]);
    terminal.until(&["patient", "holds table"]);
    terminal.press(&["5"]);
    // The program prints its id.
    let printed = format!("\n{}\n", terminal.program());
    terminal.until(&[&printed]);
    terminal.press(&["1", "/"]);
    // As a word it is a key of tmux.
    terminal.press(&["t", "a", "b", "Enter"]);
    let shown = terminal.until(&["filter: tab", "table"]);
    assert!(!shown.contains("journal"), "{shown}");
    terminal.press(&["Escape"]);
    terminal.until(&["journal"]);
    terminal.press(&["?"]);
    terminal.until(&["KEYS", "leave"]);
    terminal.press(&["Escape", "q"]);
    terminal.until(&["left 0", "after"]);
    assert!(terminal.is_given_back());
}

#[test]
fn a_deadlock_appears_while_the_user_watches() {
    let scratch = Scratch::new();
    let options = ["--interval", "0.2", "--", &stages(scratch.path())];
    let Some(terminal) = Terminal::top(&options, "") else { return };
    terminal.until(&["journal", "no findings"]);
    fs::write(scratch.join("deadlock"), "").unwrap();
    terminal.until(&["DEADLOCK: 2 threads", "findings 1"]);
    terminal.press(&["3"]);
    terminal.until(&["goes_left", "goes_right", "they wait for each other"]);
    terminal.press(&["4"]);
    terminal.until(&["error[circular-dependency] deadlocked"]);
    terminal.press(&["Enter"]);
    terminal.until(&["`left`", "`right`", "Esc back"]);
    terminal.press(&["End"]);
    terminal.until(&["help: "]);
}

#[test]
fn the_screen_follows_the_size_of_the_terminal() {
    let process = Unwatched::start();
    let pid = process.child.id().to_string();
    let Some(terminal) = Terminal::top(&["--interval", "0.3", "--pid", &pid], "") else { return };
    terminal.until(&["table", "TREND"]);
    for (columns, rows) in [("40", "8"), ("200", "50"), ("20", "4"), ("120", "30")] {
        terminal.tmux(&["resize-window", "-x", columns, "-y", rows]);
        // The last line of the screen is the last of the terminal.
        until("the line of keys", || {
            let shown = terminal.shown();
            let last = shown.lines().last()?;
            let lines = shown.lines().count();
            (lines.to_string() == rows && last.starts_with("? help")).then_some(())
        });
    }
}

#[test]
fn colours_are_left_out_where_nobody_wants_them() {
    let process = Unwatched::start();
    let pid = process.child.id().to_string();
    for (environment, has_colours) in [("NO_COLOR=1", false), ("", true)] {
        let options = ["--interval", "0.3", "--pid", &pid];
        let Some(terminal) = Terminal::top(&options, environment) else { return };
        terminal.until(&["table", "TREND"]);
        let cells = terminal.tmux(&["capture-pane", "-p", "-e"]).stdout;
        let cells = String::from_utf8_lossy(&cells);
        assert_eq!(cells.contains("[38;5;") || cells.contains(";38;5;"), has_colours, "{cells:?}");
    }
}

/// Whatever ends it, the terminal is as it was, and a program that it started ends, too.
#[test]
fn a_killed_top_gives_the_terminal_back() {
    for number in [libc::SIGTERM, libc::SIGHUP, libc::SIGKILL] {
        let scratch = Scratch::new();
        let options = ["--interval", "0.2", "--", &stages(scratch.path())];
        let Some(terminal) = Terminal::top(&options, "") else { return };
        terminal.until(&["journal"]);
        let program = terminal.program();
        signal(terminal.pid(), number);
        until("the shell", || terminal.scratch.join("after").is_file().then_some(()));
        if number == libc::SIGKILL {
            // Another process does that, a moment later.
            let settings = || {
                let tty = terminal.tmux(&["display-message", "-p", "#{pane_tty}"]).stdout;
                let tty = String::from_utf8_lossy(&tty).trim().to_owned();
                let stty = Command::new("stty").args(["-a", "-F", &tty]).output().unwrap();
                String::from_utf8_lossy(&stty.stdout).into_owned()
            };
            let before = fs::read_to_string(terminal.scratch.join("before")).unwrap();
            until("the settings", || (settings() == before).then_some(()));
        } else {
            until("the settings", || terminal.is_given_back().then_some(()));
            until("the program's end", || (!is_alive(program)).then_some(()));
        }
        // Nobody ends it where the tool could not. One that has ended is not there: nobody else has its id so soon.
        signal(program, libc::SIGKILL);
    }
}

#[test]
fn a_killed_program_leaves_what_was_seen_last() {
    let staged = Staged::under("run", &[]);
    let pid = staged.pid();
    let options = ["--interval", "0.2", &pid.to_string()];
    let Some(terminal) = Terminal::top(&options, "") else { return };
    terminal.until(&["journal", "table"]);
    signal(pid, libc::SIGKILL);
    let shown = terminal.until(&["(ended)", "journal"]);
    assert!(shown.contains("this is what was seen last"), "{shown}");
    until("its end", || (!is_alive(pid)).then_some(()));
    terminal.press(&["q"]);
    terminal.until(&["left 0"]);
}

#[test]
fn a_pause_stands_still_while_the_program_goes_on() {
    let staged = Staged::under("run", &["--on-deadlock", "report"]);
    let pid = staged.pid().to_string();
    let Some(terminal) = Terminal::top(&["--interval", "0.1", &pid], "") else { return };
    terminal.until(&["journal", "no findings"]);
    terminal.press(&["Z"]);
    terminal.until(&["PAUSED"]);
    staged.go_to("deadlock");
    // It is recorded by then.
    until("the deadlock", || {
        let mut command = crate::harness::tool();
        command.args(["top", "--count", "1", &pid]);
        crate::harness::run(command).text().contains("DEADLOCKED").then_some(())
    });
    let shown = terminal.shown();
    assert!(shown.contains("no findings") && !shown.contains("DEADLOCK"), "{shown}");
    terminal.press(&["Z"]);
    terminal.until(&["DEADLOCK: 2 threads"]);
    staged.end();
}

/// As where a window is closed, or a connection lost.
#[test]
fn a_top_whose_terminal_is_gone_ends() {
    let process = Unwatched::start();
    let pid = process.child.id().to_string();
    let mut tops = Vec::new();
    for options in [["--pid", &pid], ["--", &stages(process.scratch.path())]] {
        let Some(terminal) = Terminal::top(&options, "") else { return };
        terminal.until(&["journal"]);
        tops.push(terminal.pid());
    }
    until("their ends", || (!tops.iter().any(|&top| is_alive(top))).then_some(()));
}
