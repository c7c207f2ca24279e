//! One row per program.

use super::{
    Outcome, Program, Seen, directory, is_the_same, lines, proxies, servers, source, to_its_end,
};

/// Makes each row a test of its own.
macro_rules! programs {
    ($($(#[$comment:meta])* $name:ident: $program:expr;)*) => {
        $($(#[$comment])* #[test] fn $name() { is_the_same(&$program); })*
    };
}

const CHECK: &[&str] = &["check"];
const BOTH: &[&str] = &["check", "run"];

programs! {
    xz: Program {
        name: "xz",
        needs: &[("xz", "xz-utils")],
        commands: BOTH,
        work: |job, place| {
            to_its_end(job.args(["-T2", "-0", "--block-size=1MiB", "-c"]).arg(place.text()))
        },
        seen: Seen { processes: 1, threads: 3, locks: 3, acquisitions: 1000 },
    };

    zstd: Program {
        name: "zstd",
        needs: &[("zstd", "zstd")],
        commands: BOTH,
        work: |job, place| to_its_end(job.args(["-q", "-T2", "-c"]).arg(place.text())),
        seen: Seen { processes: 1, threads: 3, locks: 10, acquisitions: 300 },
    };

    pigz: Program {
        name: "pigz",
        needs: &[("pigz", "pigz")],
        commands: BOTH,
        // -n: neither the name nor the time of the file is packed with it.
        work: |job, place| to_its_end(job.args(["-p", "2", "-n", "-c"]).arg(place.text())),
        seen: Seen { processes: 1, threads: 3, locks: 50, acquisitions: 500 },
    };

    /// Locks, conditions and queues of `threading`, and a pool: semaphores to the C library.
    python: Program {
        name: "python",
        // By its path: another one that comes first in PATH may be any version.
        needs: &[("/usr/bin/python3", "python3")],
        commands: BOTH,
        work: |job, _| to_its_end(job.arg(source("threads.py"))),
        seen: Seen { processes: 1, threads: 9, locks: 500, acquisitions: 5000 },
    };

    /// The compiler runs in the same process, so there is more to do than what the source says.
    java: Program {
        name: "java",
        needs: &[("java", "openjdk-17-jdk-headless"), ("javac", "openjdk-17-jdk-headless")],
        commands: BOTH,
        work: |job, _| to_its_end(job.arg(source("Threads.java"))),
        seen: Seen { processes: 1, threads: 10, locks: 300, acquisitions: 10_000 },
    };

    /// Workers with memory in common, and libuv's pool.
    node: Program {
        name: "node",
        needs: &[("node", "nodejs")],
        commands: CHECK,
        work: |job, _| to_its_end(job.arg(source("workers.js"))),
        seen: Seen { processes: 1, threads: 8, locks: 1000, acquisitions: 50_000 },
    };

    /// GStreamer's objects have a GMutex each, its pads a GRecMutex: a thread for each queue.
    gstreamer: Program {
        name: "gstreamer",
        needs: &[("gst-launch-1.0", "gstreamer1.0-tools")],
        commands: BOTH,
        work: |job, _| {
            let line = "-q fakesrc num-buffers=500 ! tee name=t t. ! queue ! fakesink \
                        t. ! queue ! identity ! queue2 ! fakesink";
            to_its_end(job.args(line.split_whitespace()))
        },
        seen: Seen { processes: 1, threads: 4, locks: 200, acquisitions: 10_000 },
    };

    gio: Program {
        name: "gio",
        needs: &[("gio", "libglib2.0-bin")],
        commands: BOTH,
        work: |job, _| to_its_end(job.args(["list", "-a", "standard::name", "/etc"])),
        seen: Seen { processes: 1, threads: 1, locks: 40, acquisitions: 500 },
    };

    /// Loops of OpenMP, and a critical section in that which looks for the edges.
    graphicsmagick: Program {
        name: "graphicsmagick",
        needs: &[("gm", "graphicsmagick")],
        commands: BOTH,
        work: |job, _| {
            let line = "convert -size 200x200 gradient:red-blue -fuzz 5% -trim -blur 3x2 ppm:-";
            to_its_end(job.args(line.split(' ')))
        },
        seen: Seen { processes: 1, threads: 1, locks: 30, acquisitions: 2000 },
    };

    /// Processes that tell one another what they start by gRPC, whose locks are Abseil's.
    bear: Program {
        name: "bear",
        needs: &[("bear", "bear"), ("gcc", "gcc")],
        commands: BOTH,
        work: |job, place| {
            std::fs::write(place.scratch.join("main.c"), "int main(void) { return 0; }\n")
                .expect("written");
            let command = ["--", "gcc", "-c", "main.c"];
            let done = to_its_end(job.current_dir(place.path()).args(command));
            let told = std::fs::read_to_string(place.scratch.join("compile_commands.json"));
            let here = place.path().display().to_string();
            Outcome { results: told.expect("commands").replace(&here, "."), ..done }
        },
        seen: Seen { processes: 5, threads: 20, locks: 300, acquisitions: 1500 },
    };

    x264: Program {
        name: "x264",
        needs: &[("ffmpeg", "ffmpeg")],
        commands: CHECK,
        work: |job, _| {
            let picture = "testsrc=duration=2:size=320x240:rate=25";
            let job = job.args(["-nostdin", "-v", "error", "-f", "lavfi", "-i", picture]);
            to_its_end(job.args([
                "-c:v", "libx264", "-threads", "2", "-bitexact", "-f", "framemd5", "-",
            ]))
        },
        seen: Seen { processes: 1, threads: 4, locks: 50, acquisitions: 2000 },
    };

    x265: Program {
        name: "x265",
        needs: &[("ffmpeg", "ffmpeg")],
        commands: CHECK,
        work: |job, _| {
            let picture = "testsrc=duration=1:size=320x240:rate=25";
            let job = job.args(["-nostdin", "-v", "error", "-f", "lavfi", "-i", picture]);
            to_its_end(job.args([
                "-c:v", "libx265", "-x265-params", "log-level=error:pools=2", "-bitexact", "-f",
                "framemd5", "-",
            ]))
        },
        seen: Seen { processes: 1, threads: 4, locks: 200, acquisitions: 1000 },
    };

    /// A tree of processes: cmake, ninja, compilers, assemblers, linkers.
    build: Program {
        name: "build",
        needs: &[("sh", "dash"), ("cmake", "cmake"), ("ninja", "ninja-build"), ("cc", "gcc")],
        commands: CHECK,
        work: |job, place| {
            let mut list = String::from("cmake_minimum_required(VERSION 3.13)\nproject(sum C)\n");
            list += "add_executable(sum main.c";
            let (mut declared, mut sum) = (String::new(), String::from("0"));
            for i in 0..6 {
                let name = format!("part{i}");
                let text = format!("int {name}(void) {{ return {}; }}\n", i * i);
                std::fs::write(place.scratch.join(format!("{name}.c")), text).expect("written");
                list += &format!(" {name}.c");
                declared += &format!("int {name}(void);\n");
                sum += &format!(" + {name}()");
            }
            let main = format!(
                "#include <stdio.h>\n{declared}int main(void) {{ printf(\"%d\\n\", {sum}); }}\n"
            );
            std::fs::write(place.scratch.join("main.c"), main).expect("written");
            std::fs::write(place.scratch.join("CMakeLists.txt"), list + ")\n").expect("written");
            let script = "cmake -G Ninja -S . -B built >log && ninja -C built >>log && built/sum";
            to_its_end(job.current_dir(place.path()).args(["-e", "-c", script]))
        },
        seen: Seen { processes: 20, threads: 20, locks: 0, acquisitions: 0 },
    };

    /// Stressors that are after the same locks for a while. Their operations differ in number; that
    /// they check what they did is the result.
    stress_ng: Program {
        name: "stress-ng",
        needs: &[("stress-ng", "stress-ng")],
        commands: BOTH,
        work: |job, place| {
            let job = job.args(["--mutex", "1", "--sem", "1", "--futex", "1", "--timeout", "1s"]);
            to_its_end(job.args(["--verify", "--quiet", "--temp-path"]).arg(place.path()))
        },
        seen: Seen { processes: 3, threads: 5, locks: 4, acquisitions: 1000 },
    };

    /// Hash tables that four threads share.
    kyoto_cabinet: Program {
        name: "kccachetest",
        needs: &[("kccachetest", "kyotocabinet-utils")],
        commands: BOTH,
        work: |job, _| {
            let done = to_its_end(job.args(["order", "-th", "4", "5000"]));
            // The times are its own, the numbers of records are not.
            lines(done, |line| line.starts_with("count:") || line == "ok")
        },
        seen: Seen { processes: 1, threads: 9, locks: 16, acquisitions: 50_000 },
    };

    rocksdb: Program {
        name: "rocksdb",
        needs: &[("db_bench", "rocksdb-tools")],
        commands: BOTH,
        work: |job, place| {
            let job = job.args(["--benchmarks=fillseq,readrandom", "--num=3000", "--reads=1000"]);
            let job = job.args(["--threads=4", "--seed=1"]);
            let mut done = to_its_end(job.arg(format!("--db={}", place.path().display())));
            let said = done.run.text();
            let found = said.lines().filter_map(|line| line.split_once(" of ")?.1.split_once(" found"));
            done.results = found.map(|(number, _)| number).collect();
            assert_eq!(done.results, "1000", "{said}");
            done
        },
        seen: Seen { processes: 1, threads: 9, locks: 500, acquisitions: 5000 },
    };

    redis: Program {
        name: "redis",
        needs: &[
            ("redis-server", "redis-server"),
            ("redis-benchmark", "redis-tools"),
            ("redis-cli", "redis-tools"),
        ],
        commands: BOTH,
        work: servers::redis,
        seen: Seen { processes: 1, threads: 6, locks: 50, acquisitions: 3000 },
    };

    /// Files are read by a pool of threads.
    nginx: Program {
        name: "nginx",
        needs: &[("nginx", "nginx-light")],
        commands: BOTH,
        work: servers::nginx,
        seen: Seen { processes: 2, threads: 6, locks: 3, acquisitions: 500 },
    };

    varnish: Program {
        name: "varnish",
        needs: &[("varnishd", "varnish"), ("gcc", "gcc")],
        commands: CHECK,
        work: proxies::varnish,
        seen: Seen { processes: 4, threads: 10, locks: 300, acquisitions: 2000 },
    };

    slapd: Program {
        name: "slapd",
        needs: &[
            ("slapd", "slapd"),
            ("ldapadd", "ldap-utils"),
            ("ldapsearch", "ldap-utils"),
            ("ldapdelete", "ldap-utils"),
        ],
        commands: BOTH,
        work: directory::slapd,
        seen: Seen { processes: 1, threads: 3, locks: 10_000, acquisitions: 2000 },
    };

    /// Its lock of all threads is a mutex, which is handed on by signals and a thread with a clock.
    ruby: Program {
        name: "ruby",
        needs: &[("ruby", "ruby")],
        commands: BOTH,
        work: |job, _| to_its_end(job.arg(source("threads.rb"))),
        seen: Seen { processes: 3, threads: 3, locks: 5, acquisitions: 100 },
    };

    /// Two virtual processors, each a thread that translates what it runs: a boot sector that says
    /// so and resets.
    qemu: Program {
        name: "qemu",
        needs: &[("qemu-system-x86_64", "qemu-system-x86")],
        commands: BOTH,
        work: |job, place| {
            // mov al, 'A'; out 0xe9, al; mov cx, -1; loop $; mov al, 0xfe; out 0x64, al; hlt
            let mut sector = b"\xb0\x41\xe6\xe9\xb9\xff\xff\xe2\xfe\xb0\xfe\xe6\x64\xf4".to_vec();
            sector.resize(510, 0);
            sector.extend(b"\x55\xaa");
            let disk = place.scratch.join("disk");
            std::fs::write(&disk, sector).expect("written");
            let said = place.scratch.join("said");
            let job = job.args(["-accel", "tcg,thread=multi", "-smp", "2", "-m", "32", "-nodefaults"]);
            let job = job.args(["-display", "none", "-no-reboot", "-debugcon"]);
            let job = job.arg(format!("file:{}", said.display()));
            let drive = format!("file={},format=raw,if=ide,snapshot=on", disk.display());
            let run = job.arg("-drive").arg(drive).run();
            let results = std::fs::read_to_string(said).expect("said");
            assert_eq!(results, "A", "{}", run.stderr);
            Outcome { results, run }
        },
        seen: Seen { processes: 1, threads: 4, locks: 20, acquisitions: 500 },
    };

    /// A script before it, and processes of many sorts that it forks and that exec.
    chromium: Program {
        name: "chromium",
        needs: &[("chromium", "chromium")],
        commands: CHECK,
        work: |job, place| {
            let page = format!("file://{}", source("page.html").display());
            to_its_end(
                job.env("HOME", place.path())
                    .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"])
                    .arg(format!("--user-data-dir={}", place.path().display()))
                    .args(["--dump-dom", &page]),
            )
        },
        seen: Seen { processes: 5, threads: 30, locks: 1000, acquisitions: 20_000 },
    };
}
