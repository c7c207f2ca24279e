//! `check --pid`: processes that nobody started under the tool, as they hang or wait.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::harness::{
    FOUND, Run, Scratch, copy_program, go_build, installed, program, run, rust_program, skip,
    target_tmp, tests_dir, tool, until, until_asleep,
};
use crate::kinds::semaphores::python_itself;
use crate::naming::python_lines::has_lines;

/// A process that is killed with the test, and whose input never comes.
struct Process(Child);

impl Process {
    fn start(program: &Path, arguments: &[&str], threads: usize) -> Self {
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::piped());
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let process = Self(command.spawn().expect("the program"));
        if threads > 0 {
            until_asleep(process.0.id(), threads);
        }
        process
    }

    /// The tool's text about it, and its document.
    fn check(&self, options: &[&str]) -> (Run, Value) {
        let scratch = Scratch::new();
        let json = scratch.join("attached.json");
        let mut command = tool();
        command.args(["check", "--pid", &self.0.id().to_string(), "--json"]).arg(&json);
        command.args(options);
        let run = run(command);
        let text = std::fs::read_to_string(&json).unwrap_or_else(|_| panic!("{}", run.stderr));
        (run, serde_json::from_str(&text).expect("JSON"))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A process of `attached.c`.
fn attached(mode: &str, threads: usize) -> Process {
    Process::start(&program("attached.c"), &[mode], threads)
}

/// The waits: the lock, the function of the program that waits, and the holder that the tool names.
fn waits(document: &Value) -> Vec<(String, &str, &str)> {
    const OWN: [&str; 6] = ["take", "left", "right", "waits_for_table", "waits_for_news", "main"];
    let one = |thread: &'_ Value| {
        let wait = &thread["wait"];
        let of_lock = || wait["lock"].as_str().unwrap_or_else(|| wait["kind"].as_str().unwrap());
        let frames = thread["stack"].as_array().unwrap().iter();
        let mut names = frames.filter_map(|frame| frame["function"].as_str());
        let own = names.find_map(|name| OWN.into_iter().find(|own| *own == name));
        let known = ["thread", "ended", "not-recorded", "no-lock", "readers", "nobody"];
        let known = known.into_iter().find(|known| wait["holder"]["known"] == **known);
        (of_lock().to_owned(), own.unwrap_or("?"), known.unwrap_or("?"))
    };
    let threads = document["threads"].as_array().unwrap().iter();
    let mut all: Vec<_> = threads.filter(|thread| thread["state"] == "waits").map(one).collect();
    all.sort_unstable();
    all
}

fn kinds(document: &Value) -> Vec<(&str, bool)> {
    let verdicts = document["verdicts"].as_array().unwrap().iter();
    let known = ["cycle", "left-locked", "all-wait"];
    let kind = |verdict: &Value| known.into_iter().find(|kind| verdict["kind"] == **kind);
    verdicts.map(|v| (kind(v).expect("a kind"), v["certain"] == true)).collect()
}

#[test]
fn a_deadlock_of_two_mutexes_is_explained_with_lines() {
    let process = attached("abba", 3);
    let (run, document) = process.check(&[]);
    assert_eq!(run.code(), FOUND, "{}", run.stderr);
    assert_eq!(kinds(&document), [("cycle", true)], "{document:#}");
    assert_eq!(
        waits(&document),
        [
            ("first".into(), "take", "thread"),
            ("join".into(), "main", "thread"),
            ("second".into(), "take", "thread"),
        ],
        "{document:#}"
    );
    for words in [
        "error[deadlock]: 2 threads wait for each other\n",
        "waits for the mutex `second`, held by thread ",
        "in take (",
        "attached.c:",
        "called from left (attached.c:",
        "called from right (attached.c:",
        "behind them waits: ",
        "3 THREADS",
    ] {
        assert!(run.stderr.contains(words), "{words}: {}", run.stderr);
    }
    let status = std::fs::read_to_string(format!("/proc/{}/status", process.0.id())).unwrap();
    assert!(status.contains("TracerPid:\t0\n"), "nobody traces it: {status}");
}

/// Threads that are stopped come back to what they waited for.
#[test]
fn a_stopped_process_is_never_free_of_deadlocks() {
    let stop = |process: &Process| {
        // SAFETY: a signal to a child of our own, which is not waited for yet.
        assert_eq!(unsafe { libc::kill(process.0.id() as i32, libc::SIGSTOP) }, 0);
        let is_stopped = |task: std::fs::DirEntry| {
            let status = std::fs::read_to_string(task.path().join("status")).unwrap_or_default();
            status.contains("State:\tT")
        };
        until("it is stopped", || {
            let mut tasks = std::fs::read_dir(format!("/proc/{}/task", process.0.id())).unwrap();
            tasks.all(|task| is_stopped(task.unwrap())).then_some(())
        });
    };
    let process = attached("abba", 3);
    stop(&process);
    let (run, document) = process.check(&[]);
    assert_eq!((run.code(), kinds(&document)), (FOUND, vec![("cycle", true)]), "{document:#}");
    assert!(run.stderr.contains(", stopped, waits for the mutex `second`"), "{}", run.stderr);

    let process = attached("held", 4);
    stop(&process);
    let (run, document) = process.check(&[]);
    assert_eq!((run.code(), kinds(&document)), (0, vec![]), "{document:#}");
    for words in
        ["undecided: 4 threads are stopped", "and waits for the mutex `first`, held by thread"]
    {
        assert!(run.stderr.contains(words), "{words}: {}", run.stderr);
    }
    assert!(!run.stderr.contains("no deadlock"), "{}", run.stderr);
}

#[test]
fn a_holder_that_cannot_be_interrupted_leaves_it_undecided() {
    let process = attached("vfork", 0);
    until("it is in vfork", || {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", process.0.id())).unwrap();
        let status = |task: std::fs::DirEntry| std::fs::read_to_string(task.path().join("status"));
        let states: Vec<String> = tasks.flatten().filter_map(|task| status(task).ok()).collect();
        let of = |letter: &str| {
            states.iter().filter(|status| status.contains(&format!("State:\t{letter}"))).count()
        };
        (of("D") == 1 && of("S") == 2).then_some(())
    });
    let (run, document) = process.check(&[]);
    assert_eq!((run.code(), kinds(&document)), (0, vec![]), "{document:#}");
    for words in ["sleeps in `vfork`, uninterruptible", "and sleeps in an uninterruptible call"] {
        assert!(run.stderr.contains(words), "{words}: {}", run.stderr);
    }
    assert!(!run.stderr.contains("no deadlock"), "{}", run.stderr);
}

#[test]
fn a_deadlock_of_two_processes_is_explained() {
    let child_of = |process: &Process| {
        let path = format!("/proc/{0}/task/{0}/children", process.0.id());
        let pid: u32 =
            until("a child", || std::fs::read_to_string(&path).ok()?.trim().parse().ok());
        until_asleep(pid, 1);
        pid
    };
    let process = Process::start(&program("shared_abba.c"), &[], 0);
    let child = child_of(&process);
    until_asleep(process.0.id(), 1);
    let (run, document) = until("both wait", || {
        let (run, document) = process.check(&[]);
        (!kinds(&document).is_empty()).then_some((run, document))
    });
    assert_eq!((run.code(), kinds(&document)), (FOUND, vec![("cycle", true)]), "{document:#}");
    assert_eq!(document["elsewhere"][0]["pid"], child, "{document:#}");
    assert!(run.stderr.contains(&format!(" of process {child} waits for")), "{}", run.stderr);

    let process = Process::start(&program("shared_abba.c"), &["waits for input"], 0);
    child_of(&process);
    until_asleep(process.0.id(), 1);
    let (run, document) = process.check(&[]);
    assert_eq!((run.code(), kinds(&document)), (0, vec![]), "{document:#}");
    assert!(run.stderr.contains("undecided: none of its own threads"), "{}", run.stderr);
}

#[test]
fn exit_codes_are_those_of_check() {
    let process = attached("abba", 3);
    assert_eq!(process.check(&["--exit-code", "9"]).0.code(), 9);
    assert_eq!(process.check(&["--exit-code", "0"]).0.code(), 0);
}

#[test]
fn a_thread_that_waits_for_its_own_mutex_is_told() {
    let (run, document) = attached("own", 1).check(&[]);
    assert_eq!(run.code(), FOUND, "{}", run.stderr);
    assert_eq!(kinds(&document), [("cycle", true)], "{document:#}");
    assert!(run.stderr.contains("a lock that it holds itself"), "{}", run.stderr);
}

#[test]
fn a_mutex_of_a_thread_that_has_ended_is_told() {
    let (run, document) = attached("left-locked", 2).check(&[]);
    assert_eq!(run.code(), FOUND, "{}", run.stderr);
    assert_eq!(kinds(&document), [("left-locked", true)], "{document:#}");
    assert!(run.stderr.contains("ended with a lock held"), "{}", run.stderr);
}

/// The clean twin: the same locks are held and waited for, and their holder may go on.
#[test]
fn waits_for_a_thread_that_may_go_on_are_no_deadlock() {
    let (run, document) = attached("held", 4).check(&[]);
    assert_eq!(run.code(), 0, "{}", run.stderr);
    assert_eq!(kinds(&document), [], "{document:#}");
    assert_eq!(
        waits(&document),
        [
            ("first".into(), "take", "thread"),
            ("join".into(), "main", "thread"),
            ("table".into(), "waits_for_table", "thread"),
        ],
        "{document:#}"
    );
    for words in [
        "no deadlock between threads",
        "sleeps in `read`",
        "the rwlock `table`, to read, held by thread",
    ] {
        assert!(run.stderr.contains(words), "{words}: {}", run.stderr);
    }
}

#[test]
fn where_every_thread_waits_nobody_wakes_unless_a_signal_does() {
    let (run, document) = attached("news", 2).check(&[]);
    assert_eq!((run.code(), kinds(&document)), (FOUND, vec![("all-wait", true)]), "{document:#}");
    let (run, document) = attached("signal", 2).check(&[]);
    assert_eq!((run.code(), kinds(&document)), (0, vec![("all-wait", false)]), "{document:#}");
    assert!(run.stderr.contains("by the handler of a signal: SIGUSR1"), "{}", run.stderr);
}

#[test]
fn a_rust_program_that_hangs_is_explained_without_its_holders() {
    let process = Process::start(&rust_program("attached.rs"), &[], 3);
    let (run, document) = process.check(&[]);
    assert_eq!(run.code(), FOUND, "{}\n{document:#}", run.stderr);
    assert_eq!(kinds(&document), [("all-wait", true)], "{document:#}");
    for words in [
        "every thread of the process waits for another one",
        "waits for the Rust Mutex `attached::LEFT`, whose words do not tell who holds it",
        "waits for the Rust Mutex `attached::RIGHT`, whose words do not tell who holds it",
        "in attached::both (",
        "attached.rs:",
    ] {
        assert!(run.stderr.contains(words), "{words}: {}", run.stderr);
    }
}

#[test]
fn a_java_program_that_hangs_is_explained_as_far_as_futexes_go() {
    let (Some(java), Some(javac)) = (
        installed(&["java"], "openjdk-17-jdk-headless"),
        installed(&["javac"], "openjdk-17-jdk-headless"),
    ) else {
        return;
    };
    let scratch = Scratch::new();
    let source = scratch.join("Hangs.java");
    std::fs::write(
        &source,
        "import java.util.concurrent.CountDownLatch;\n\
         public class Hangs {\n\
         static final Object LEFT = new Object(), RIGHT = new Object();\n\
         static final CountDownLatch BOTH = new CountDownLatch(2);\n\
         static void take(Object first, Object second) {\n\
         synchronized (first) { BOTH.countDown(); try { BOTH.await(); } catch (Exception e) { return; }\n\
         synchronized (second) { System.out.println(); } } }\n\
         public static void main(String[] arguments) {\n\
         new Thread(() -> take(LEFT, RIGHT), \"java-left\").start();\n\
         new Thread(() -> take(RIGHT, LEFT), \"java-right\").start(); } }\n",
    )
    .unwrap();
    let built = Command::new(javac).arg("-d").arg(scratch.path()).arg(&source).status().unwrap();
    assert!(built.success());
    let class_path = scratch.path().to_str().unwrap().to_owned();
    let process = Process::start(&java, &["-cp", &class_path, "Hangs"], 0);
    // The two begin to wait some time after the program has started; then they do for ever.
    until("both Java threads wait for monitors", || {
        let (run, document) = process.check(&[]);
        let monitors = run.stderr.matches("waits for the Java monitor").count();
        assert_eq!(run.code(), 0, "{}", run.stderr);
        let named = ["java-left", "java-right"].iter().all(|name| run.stderr.contains(name));
        let is_said = run.stderr.contains("Thread.print");
        assert_eq!(kinds(&document), []);
        (monitors == 2 && named && is_said).then_some(())
    });
}

#[test]
fn a_go_program_is_told_as_far_as_futexes_go() {
    let Some(go) = installed(&["go"], "golang-go") else { return };
    let folder = target_tmp().join("attached-go");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("go.mod"), "module hangs\n\ngo 1.19\n").unwrap();
    // A listener keeps Go's own detector of deadlocks quiet.
    std::fs::write(
        folder.join("main.go"),
        "package main\n\nimport (\n\t\"net\"\n\t\"sync\"\n)\n\nvar left, right sync.Mutex\n\n\
         func both(first, second *sync.Mutex, held *sync.WaitGroup) {\n\tfirst.Lock()\n\
         \theld.Done()\n\theld.Wait()\n\tsecond.Lock()\n}\n\nfunc main() {\n\
         \tvar held sync.WaitGroup\n\theld.Add(2)\n\tgo both(&left, &right, &held)\n\
         \tgo both(&right, &left, &held)\n\tlistener, _ := net.Listen(\"tcp\", \"127.0.0.1:0\")\n\
         \tlistener.Accept()\n}\n",
    )
    .unwrap();
    go_build(&go, &["-o", "hangs", "."].map(OsStr::new), &folder, true);
    let process = Process::start(&folder.join("hangs"), &[], 0);
    until("a thread of Go's runtime is idle", || {
        let (run, document) = process.check(&[]);
        assert_eq!((run.code(), kinds(&document)), (0, vec![]), "{}", run.stderr);
        let is_idle = run.stderr.contains("waits for work, as a thread of Go's runtime");
        (is_idle && run.stderr.contains("kill -QUIT")).then_some(())
    });
}

#[test]
fn a_process_that_is_not_there_or_not_ours_is_refused() {
    let mut command = tool();
    command.args(["check", "--pid", "4194304"]);
    let run_of = run(command);
    assert_eq!(run_of.code(), 127, "{}", run_of.stderr);
    assert!(run_of.stderr.contains("there is no process 4194304"), "{}", run_of.stderr);
    let mut command = tool();
    command.args(["check", "--pid", "1", "--", "true"]);
    let run_of = run(command);
    assert_eq!(run_of.code(), 2, "{}", run_of.stderr);
    // SAFETY: it takes no argument and touches no memory of ours.
    if unsafe { libc::geteuid() } != 0 {
        skip("only root can become another user");
        return;
    }
    let process = attached("abba", 3);
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--clear-groups"]).arg(tool().get_program());
    command.args(["check", "--pid", &process.0.id().to_string()]);
    let output = command.output().expect("setpriv of util-linux");
    let said = String::from_utf8_lossy(&output.stderr);
    if said.contains("failed to execute") {
        skip("the tool's directory is closed to other users");
        return;
    }
    assert_eq!(output.status.code(), Some(125), "{said}");
    assert!(said.contains("run lockwright as root, or as the user"), "{said}");
}

/// Which process may end the wait, and that it waits for another, too.
#[test]
fn who_else_has_the_memory_of_a_wait_is_named() {
    let parent = Process::start(&program("shared_wait.c"), &[], 1);
    let (run, document) = parent.check(&[]);
    let [wait] = &document["shared_waits"].as_array().unwrap()[..] else { panic!("{document}") };
    let [child] = &wait["others"].as_array().unwrap()[..] else { panic!("{document}") };
    assert_eq!((&child["waits"], &child["name"]), (&true.into(), &"shared_wait".into()));
    let next = format!("`lockwright check --pid {}` shows", child["pid"]);
    assert!(run.stderr.contains(&next), "{}", run.stderr);
    assert!(run.stderr.contains("undecided: none of its own threads"), "{}", run.stderr);

    let parent = Process::start(&program("shared_wait.c"), &["private"], 1);
    let (run, document) = parent.check(&[]);
    assert_eq!(document["shared_waits"].as_array().unwrap().len(), 0, "{document}");
    assert!(!run.stderr.contains("other processes"), "{}", run.stderr);
}

/// The kernel shows its modules' paths from our root directory.
#[test]
fn a_process_in_a_chroot_is_explained_with_lines() {
    // SAFETY: it takes no arguments and cannot fail.
    if unsafe { libc::geteuid() } != 0 {
        return skip("needs root");
    }
    let scratch = Scratch::new();
    let libraries = run({
        let mut ldd = Command::new("ldd");
        ldd.arg(program("attached.c"));
        ldd
    });
    let text = libraries.text();
    let files = text.split_whitespace().filter(|word| word.starts_with('/'));
    for file in files {
        let copy = scratch.join(file.trim_start_matches('/'));
        std::fs::create_dir_all(copy.parent().unwrap()).unwrap();
        copy_program(file, copy);
    }
    copy_program(program("attached.c"), scratch.join("attached"));
    let mut chroot = std::path::PathBuf::from("/usr/sbin/chroot");
    if !chroot.exists() {
        chroot = "/sbin/chroot".into();
    }
    let process =
        Process::start(&chroot, &[scratch.join("").to_str().unwrap(), "/attached", "abba"], 3);
    let (run, document) = process.check(&[]);
    assert_eq!(document["verdicts"][0]["kind"], "cycle", "{}", run.stderr);
    assert!(run.stderr.contains("attached.c:"), "{}", run.stderr);
}

/// The lines that wait, instead of the functions of the interpreter.
#[test]
fn a_python_program_that_hangs_is_explained_with_its_lines() {
    if !has_lines() {
        return;
    }
    let hangs = tests_dir().join("programs/hangs.py");
    let program = std::path::PathBuf::from(python_itself());
    let process = Process::start(&program, &[hangs.to_str().unwrap()], 3);
    let (run, document) = process.check(&[]);
    let mut stacks: Vec<Vec<String>> = document["threads"]
        .as_array()
        .unwrap()
        .iter()
        .map(|thread| {
            let frames = thread["stack"].as_array().unwrap().iter();
            let own = frames.filter(|frame| frame["file"].as_str() == hangs.to_str());
            own.map(|frame| format!("{} {}", frame["function"].as_str().unwrap(), frame["line"]))
                .collect()
        })
        .collect();
    stacks.sort_unstable();
    let expected: [&[&str]; 3] =
        [&["<module> 33"], &["Producer.run 25"], &["take 14", "consume 19"]];
    assert_eq!(stacks, expected, "{}", run.stderr);
    let place = format!("in take ({}:14)", hangs.display());
    assert!(run.stderr.contains(&place), "{}", run.stderr);
    assert!(run.stderr.contains("called from consume (hangs.py:19)"), "{}", run.stderr);
    assert!(!run.stderr.contains("_PyEval"), "{}", run.stderr);
}
