//! Symbolising of programs that are compiled here, in every way their debug information can lie:
//! within, next to the program, by build id, split, shared, gone or of another build.

#[path = "../../../tests/skip.rs"]
mod skip;

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::rc::Rc;
use std::sync::atomic::Ordering::Relaxed;

use lockwright_analysis::finding::{Frame, MissingNames};
use lockwright_analysis::symbolize::wrapper::first_own_frame;
use lockwright_analysis::symbolize::{DebugDirs, Images, Symbols};
use lockwright_ledger::rows::{Module, Stack};
use lockwright_ledger::{Ledger, Writer};
use object::{Object, ObjectSymbol};

const PAGE: usize = 4096;

/// A directory of its own for each test, gone with it.
struct Dir(PathBuf);

impl Dir {
    fn new(name: &str) -> Self {
        let dir = std::env::temp_dir().join(format!("lockwright-{name}-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        Self(dir.canonicalize().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, text).unwrap();
        path
    }

    fn run(&self, program: &str, args: &[&str]) {
        let done = Command::new(program).args(args).current_dir(&self.0).output().unwrap();
        assert!(
            done.status.success(),
            "{program} {args:?}: {}",
            String::from_utf8_lossy(&done.stderr)
        );
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// These tests compile programs; without the tools there is nothing to test. In CI they must be
/// there.
fn have(tools: &[&str]) -> bool {
    let missing: Vec<_> =
        tools.iter().filter(|tool| Command::new(tool).arg("--version").output().is_err()).collect();
    if !missing.is_empty() {
        assert!(std::env::var_os("LOCKWRIGHT_CI").is_none(), "not installed: {missing:?}");
        skip::skip(&format!("not installed: {missing:?}"));
    }
    missing.is_empty()
}

/// A module as it would have been loaded.
struct Loaded<'a> {
    path: &'a Path,
    bias: u64,
    load_epoch: u32,
    unload_epoch: u32,
    build_id: Vec<u8>,
}

impl<'a> Loaded<'a> {
    fn new(path: &'a Path, bias: u64) -> Self {
        let bytes = fs::read(path).unwrap();
        let file = object::File::parse(&*bytes).unwrap();
        let build_id = file.build_id().unwrap().unwrap_or_default().to_vec();
        Self { path, bias, load_epoch: 0, unload_epoch: 0, build_id }
    }
}

/// A ledger with these modules (rows 1, 2, ...) and stacks (rows 1, 2, ...).
fn ledger(modules: &[Loaded<'_>], stacks: &[(&[u64], u32)]) -> Ledger {
    let len = 300 * PAGE;
    let memory = vec![0u64; (len + PAGE) / 8].leak();
    let at = (memory.as_mut_ptr() as usize).next_multiple_of(PAGE) as *mut u8;
    // SAFETY: leaked, zeroed, aligned, and nobody else's.
    let mut writer = unsafe { Writer::create(at, len, |_, _| Ok(()), |_| {}) }.unwrap();
    for module in modules {
        let path = writer.text(module.path.as_os_str().as_encoded_bytes());
        let build_id = writer.text(&module.build_id);
        writer.push(Module {
            path,
            build_id,
            bias: module.bias,
            start: module.bias,
            end: module.bias + (1 << 24),
            load_epoch: module.load_epoch,
            unload_epoch: module.unload_epoch,
            ..Default::default()
        });
    }
    for (frames, epoch) in stacks {
        let first = writer.frames(frames).unwrap();
        writer.push(Stack { first, len: frames.len() as u32, epoch: *epoch, ..Default::default() });
    }
    let used = writer.header().used.load(Relaxed) as usize;
    // SAFETY: the writer's own memory, up to what it has used.
    Ledger::from_bytes(unsafe { std::slice::from_raw_parts(at, used) }.to_vec()).unwrap()
}

/// Address and size of each symbol of a file.
fn symbols_of(path: &Path) -> HashMap<String, (u64, u64)> {
    let bytes = fs::read(path).unwrap();
    let file = object::File::parse(&*bytes).unwrap();
    file.symbols()
        .filter(|symbol| symbol.size() > 0)
        .map(|symbol| (symbol.name().unwrap().to_owned(), (symbol.address(), symbol.size())))
        .collect()
}

/// ELF address just after the first call of something named like `callee` in the function whose
/// mangled name contains `function`.
fn return_address(path: &Path, function: &str, callee: &str) -> u64 {
    let text =
        Command::new("objdump").args(["-d", "--no-show-raw-insn"]).arg(path).output().unwrap();
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    let mut lines = text
        .lines()
        .skip_while(|line| {
            !(line.ends_with(">:") && !line.contains(".cold") && line.contains(function))
        })
        .skip(1)
        .take_while(|line| !line.is_empty())
        .skip_while(|line| !(line.contains("call") && line.contains(callee)));
    assert!(lines.next().is_some(), "no call of {callee} in {function}:\n{text}");
    let after = lines.next().unwrap();
    u64::from_str_radix(after.trim().split(':').next().unwrap(), 16).unwrap()
}

fn no_dirs() -> Rc<Images> {
    Images::new(DebugDirs::new([]))
}

fn place(frame: &Frame) -> (&str, Option<&str>, Option<u32>) {
    let file = frame.file.as_deref().map(|file| file.rsplit('/').next().unwrap());
    (frame.function.as_deref().unwrap_or("?"), file, frame.line)
}

const BANK_C: &str = r#"#include <pthread.h>
pthread_mutex_t accounts = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t table[4];
int total;

static inline __attribute__((always_inline)) void enter(pthread_mutex_t *m)
{
    pthread_mutex_lock(m);
    total++;
}

__attribute__((noinline)) void transfer(void)
{
    enter(&accounts);
    enter(&table[2]);
}

__attribute__((noreturn, noinline)) void last_call(void) { __builtin_trap(); }
__attribute__((noinline)) void dies(void) { last_call(); }
int main(void) { transfer(); if (total > 100) dies(); return 0; }
"#;

/// All that is to be known of one call in `transfer`, when debug information is found.
fn assert_full(symbols: &Symbols<'_>, source: &Path) {
    let stack = symbols.stack(1);
    assert_eq!(stack.len(), 2, "{stack:#?}");
    assert_eq!(place(&stack[0]), ("enter", Some("bank.c"), Some(8)));
    assert!(stack[0].inlined);
    assert_eq!(stack[0].file.as_deref(), source.to_str(), "made absolute");
    assert!(stack[0].column.is_some());
    assert_eq!(place(&stack[1]), ("transfer", Some("bank.c"), Some(14)));
    assert!(!stack[1].inlined);
    assert!(stack[1].function_offset.is_some_and(|offset| offset > 0));
}

/// Compiles BANK_C to `bank` with the given flags; gives the path and the return address of the
/// first lock call in `transfer`.
fn bank(dir: &Dir, flags: &[&str]) -> (PathBuf, PathBuf, u64) {
    let source = dir.write("bank.c", BANK_C);
    let program = dir.path("bank");
    let mut args = vec!["-O1", "-g", "-pthread", "bank.c", "-o", "bank"];
    args.extend(flags);
    dir.run("cc", &args);
    let call = return_address(&program, "transfer", "pthread_mutex_lock");
    (program, source, call)
}

const BIAS: u64 = 0x5555_0000_0000;

#[test]
fn lines_inlining_and_variables() {
    if !have(&["cc", "objdump"]) {
        return;
    }
    let dir = Dir::new("plain");
    let (program, source, call) = bank(&dir, &[]);
    let named = symbols_of(&program);
    let ledger = ledger(&[Loaded::new(&program, BIAS)], &[(&[BIAS + call], 0)]);
    let symbols = Symbols::with_images(&ledger, no_dirs());
    assert_full(&symbols, &source);
    assert!(symbols.stack(0).is_empty());
    assert!(symbols.stack(77).is_empty(), "an id of a damaged ledger");
    let frame = &symbols.stack(1)[1];
    assert_eq!(frame.offset, call);
    assert_eq!(frame.module.as_deref(), program.to_str());
    assert_eq!(frame.function_offset, Some(call - named["transfer"].0));

    let (table, size) = named["table"];
    let found = symbols.data(1, table + size / 2).unwrap();
    assert_eq!((found.name.as_str(), found.start, found.size), ("table", table, size));
    assert_eq!(symbols.data(1, table + size).map(|s| s.name).as_deref().unwrap_or(""), {
        let next = named.iter().find(|(_, (start, _))| *start == table + size);
        next.map_or("", |(name, _)| name)
    });
    assert_eq!(symbols.data(9, table), None);
    assert_eq!(symbols.module_name(1), program.to_str().unwrap());
    assert_eq!(symbols.module_name(9), "");
    assert!(symbols.notes().is_empty(), "{:?}", symbols.notes());
}

#[test]
fn a_call_that_ends_its_function_belongs_to_it() {
    if !have(&["cc"]) {
        return;
    }
    let dir = Dir::new("noreturn");
    let (program, ..) = bank(&dir, &[]);
    let (start, size) = symbols_of(&program)["dies"];
    let ledger = ledger(&[Loaded::new(&program, BIAS)], &[(&[BIAS + start + size], 0)]);
    let symbols = Symbols::with_images(&ledger, no_dirs());
    let stack = symbols.stack(1);
    assert_eq!(place(stack.last().unwrap()), ("dies", Some("bank.c"), Some(19)));
    assert_eq!(stack.last().unwrap().function_offset, Some(size));
}

/// A function that ends with a jump is on no stack; the call that led there names it. A call by a pointer names nothing.
#[test]
fn a_function_that_jumps_on_is_known_by_its_call() {
    if !have(&["cc", "objdump"]) {
        return;
    }
    let dir = Dir::new("jumps");
    let source = dir.write(
        "jumps.c",
        "int other(int);\n\
         __attribute__((noipa)) int jumps(int x) { return other(x + 1); }\n\
         __attribute__((noipa)) int calls(int x) { return jumps(x) + 1; }\n\
         __attribute__((noipa)) int by_pointer(int (*f)(int)) { return f(2) + 1; }\n\
         __attribute__((noipa)) int other(int x) { return x; }\n\
         int main(void) { return calls(1) + by_pointer(jumps); }\n",
    );
    dir.run("cc", &["-g", "-O2", "-o", "jumps", source.to_str().unwrap()]);
    let program = dir.path("jumps");
    let (direct, indirect) = (
        return_address(&program, "<calls>", "jumps"),
        return_address(&program, "<by_pointer>", "*"),
    );
    let ledger =
        ledger(&[Loaded::new(&program, BIAS)], &[(&[BIAS + direct], 0), (&[BIAS + indirect], 0)]);
    let symbols = Symbols::with_images(&ledger, no_dirs());
    let called = |stack| symbols.called_by_first(stack).and_then(|frame| frame.function);
    assert_eq!(called(1).as_deref(), Some("jumps"));
    assert_eq!(called(2), None);
    assert_eq!(called(3), None, "no such stack");
}

#[test]
fn stripped_programs_and_their_debug_files() {
    if !have(&["cc", "objcopy", "strip", "objdump"]) {
        return;
    }
    let dir = Dir::new("stripped");
    let (program, source, call) = bank(&dir, &["-Wl,--export-dynamic"]);
    let id = Loaded::new(&program, BIAS).build_id;
    dir.run("objcopy", &["--only-keep-debug", "bank", "bank.debug"]);
    dir.run("strip", &["bank"]);
    let ledger = ledger(&[Loaded::new(&program, BIAS)], &[(&[BIAS + call], 0)]);

    // Nothing to be found: the dynamic symbols must do.
    fs::rename(dir.path("bank.debug"), dir.path("elsewhere")).unwrap();
    let symbols = Symbols::with_images(&ledger, no_dirs());
    assert_eq!(place(&symbols.stack(1)[0]), ("transfer", None, None));

    // By build id.
    let hex: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
    let root = dir.path("debug");
    let by_id = root.join(".build-id").join(&hex[..2]);
    fs::create_dir_all(&by_id).unwrap();
    fs::copy(dir.path("elsewhere"), by_id.join(format!("{}.debug", &hex[2..]))).unwrap();
    let symbols = Symbols::with_images(&ledger, Images::new(DebugDirs::new([root.clone()])));
    assert_full(&symbols, &source);
    assert!(symbols.data(1, 0).is_none());

    // Even when the program itself is gone: the report is made later or elsewhere.
    fs::rename(&program, dir.path("moved")).unwrap();
    let symbols = Symbols::with_images(&ledger, Images::new(DebugDirs::new([root.clone()])));
    assert_full(&symbols, &source);
    fs::rename(dir.path("moved"), &program).unwrap();
    fs::remove_dir_all(&root).unwrap();

    // By debug link: in the same directory, in .debug, and under the debug directory.
    fs::rename(dir.path("elsewhere"), dir.path("bank.debug")).unwrap();
    dir.run("objcopy", &["--add-gnu-debuglink=bank.debug", "bank"]);
    let below = root.join(dir.0.strip_prefix("/").unwrap());
    fs::create_dir_all(&below).unwrap();
    fs::create_dir_all(dir.path(".debug")).unwrap();
    let places = [dir.path("bank.debug"), dir.path(".debug/bank.debug"), below.join("bank.debug")];
    for (i, at) in places.iter().enumerate() {
        if i > 0 {
            fs::rename(&places[i - 1], at).unwrap();
        }
        let symbols = Symbols::with_images(&ledger, Images::new(DebugDirs::new([root.clone()])));
        assert_full(&symbols, &source);
    }
}

#[test]
fn a_debug_link_without_build_id_goes_by_checksum() {
    if !have(&["cc", "objcopy", "strip", "objdump"]) {
        return;
    }
    let dir = Dir::new("crc");
    let (program, source, call) = bank(&dir, &["-Wl,--build-id=none"]);
    dir.run("objcopy", &["--only-keep-debug", "bank", "bank.debug"]);
    dir.run("strip", &["bank"]);
    dir.run("objcopy", &["--add-gnu-debuglink=bank.debug", "bank"]);
    let ledger = ledger(&[Loaded::new(&program, BIAS)], &[(&[BIAS + call], 0)]);
    assert_full(&Symbols::with_images(&ledger, no_dirs()), &source);

    // One byte more, and it is another file.
    let mut bytes = fs::read(dir.path("bank.debug")).unwrap();
    bytes.push(0);
    fs::write(dir.path("bank.debug"), bytes).unwrap();
    let symbols = Symbols::with_images(&ledger, no_dirs());
    let stack = symbols.stack(1);
    assert_eq!((stack.len(), &stack[0].function), (1, &None));
    assert_eq!(stack[0].offset, call);
    assert_eq!(symbols.notes().len(), 1, "{:?}", symbols.notes());
}

#[test]
fn a_rebuilt_program_is_not_read() {
    if !have(&["cc", "objdump"]) {
        return;
    }
    let dir = Dir::new("rebuilt");
    let (program, _, call) = bank(&dir, &[]);
    let ledger = ledger(&[Loaded::new(&program, BIAS)], &[(&[BIAS + call], 0)]);
    dir.write("bank.c", &BANK_C.replace("total > 100", "total > 1000"));
    dir.run("cc", &["-O1", "-g", "-pthread", "bank.c", "-o", "bank"]);
    let symbols = Symbols::with_images(&ledger, no_dirs());
    let stack = symbols.stack(1);
    assert_eq!(stack[0].function, None);
    assert_eq!(stack[0].module.as_deref(), program.to_str());
    let notes = symbols.notes();
    assert!(notes.len() == 1 && notes[0].missing == MissingNames::Changed, "{notes:?}");
}

#[test]
fn split_compressed_and_old_dwarf() {
    if !have(&["cc", "objdump"]) {
        return;
    }
    for flags in [
        &["-gsplit-dwarf"][..],
        &["-gdwarf-4"],
        &["-gdwarf-5", "-gz=zlib"],
        &["-gdwarf-4", "-fdebug-types-section"],
        &["-no-pie"],
        &["-g3"],
    ] {
        let dir = Dir::new(&format!("dwarf{}", flags.concat()));
        let (program, source, call) = bank(&dir, flags);
        let ledger = ledger(&[Loaded::new(&program, BIAS)], &[(&[BIAS + call], 0)]);
        assert_full(&Symbols::with_images(&ledger, no_dirs()), &source);
    }
}

#[test]
fn shared_debug_information_is_followed() {
    if !have(&["cc", "dwz", "objdump"]) {
        return;
    }
    let dir = Dir::new("dwz");
    let (program, source, call) = bank(&dir, &["-g3"]);
    fs::copy(&program, dir.path("bank2")).unwrap();
    dir.run(
        "dwz",
        &["-m", "shared.dwz", "-M", dir.path("shared.dwz").to_str().unwrap(), "bank", "bank2"],
    );
    assert!(dir.path("shared.dwz").exists());
    let ledger = ledger(&[Loaded::new(&program, BIAS)], &[(&[BIAS + call], 0)]);
    assert_full(&Symbols::with_images(&ledger, no_dirs()), &source);
}

#[test]
fn plugins_that_come_and_go_at_one_address() {
    if !have(&["cc", "objdump"]) {
        return;
    }
    let dir = Dir::new("plugins");
    let mut paths = Vec::new();
    for name in ["first", "second"] {
        let source =
            format!("void hook(void);\nvoid {name}(void)\n{{\n    hook();\n    hook();\n}}\n");
        dir.write(&format!("{name}.c"), &source);
        let object = format!("{name}.so");
        dir.run("cc", &["-g", "-O1", "-shared", "-fPIC", &format!("{name}.c"), "-o", &object]);
        paths.push(dir.path(&object));
    }
    let first = BIAS + return_address(&paths[0], "first", "hook");
    let second = BIAS + return_address(&paths[1], "second", "hook");
    let mut early = Loaded::new(&paths[0], BIAS);
    (early.load_epoch, early.unload_epoch) = (1, 2);
    let mut late = Loaded::new(&paths[1], BIAS);
    late.load_epoch = 3;
    let ledger = ledger(&[early, late], &[(&[first], 1), (&[second], 3), (&[0x1234], 3)]);
    let symbols = Symbols::with_images(&ledger, no_dirs());
    assert_eq!(place(&symbols.stack(1)[0]), ("first", Some("first.c"), Some(4)));
    assert_eq!(place(&symbols.stack(2)[0]), ("second", Some("second.c"), Some(4)));
    let nowhere = Frame { offset: 0x1234, ..Frame::default() };
    assert_eq!(*symbols.stack(3), [nowhere], "no module there");
}

const POOL_CC: &str = r#"#include <mutex>
namespace pool {
std::mutex registry;
struct Queue {
    std::mutex lock;
    int n = 0;
    void push();
    template <typename T> void each(T f) { std::lock_guard<std::mutex> hold(lock); f(); }
};
void Queue::push()
{
    std::lock_guard<std::mutex> hold(lock);
    std::unique_lock<std::mutex> too(registry);
    n++;
}
}
int main() {
    pool::Queue q;
    q.push();
    q.each([] {});
}
"#;

#[test]
fn cpp_wrappers_are_seen_through() {
    if !have(&["g++", "objdump"]) {
        return;
    }
    for optimise in ["-O0", "-O1", "-O2"] {
        let dir = Dir::new(&format!("cpp{optimise}"));
        dir.write("pool.cc", POOL_CC);
        let program = dir.path("pool");
        dir.run(
            "g++",
            &[optimise, "-g", "-fno-inline-small-functions", "-pthread", "pool.cc", "-o", "pool"],
        );
        // At -O0 the wrappers are calls, as they return to one another; above it they are inlined.
        let calls: &[(&str, &str)] = if optimise == "-O0" {
            &[
                ("gthread_mutex_lock", "pthread_mutex_lock"),
                ("_ZNSt5mutex4lockEv", "gthread_mutex_lock"),
                ("_ZNSt10lock_guardISt5mutexEC", "mutex4lock"),
                ("_ZN4pool5Queue4pushEv", "lock_guard"),
            ]
        } else {
            &[("_ZN4pool5Queue4pushEv", "pthread_mutex_lock")]
        };
        let frames: Vec<u64> =
            calls.iter().map(|(from, to)| return_address(&program, from, to)).collect();
        let frames: Vec<u64> = frames.iter().map(|frame| BIAS + frame).collect();
        let ledger = ledger(&[Loaded::new(&program, BIAS)], &[(&frames, 0)]);
        let symbols = Symbols::with_images(&ledger, no_dirs());
        let stack = symbols.stack(1);
        let names: Vec<_> =
            stack.iter().map(|frame| frame.function.as_deref().unwrap_or("?")).collect();
        assert_eq!(
            names,
            [
                "__gthread_mutex_lock",
                "std::mutex::lock",
                "std::lock_guard<std::mutex>::lock_guard",
                "pool::Queue::push"
            ],
            "{optimise}"
        );
        let own = first_own_frame(&stack).unwrap();
        assert_eq!(place(own), ("pool::Queue::push", Some("pool.cc"), Some(12)), "{optimise}");
        let registry = symbols_of(&program)["_ZN4pool8registryE"].0;
        assert_eq!(symbols.data(1, registry).unwrap().name, "pool::registry");
    }
}

#[test]
fn rust_programs() {
    if !have(&["rustc", "objdump"]) {
        return;
    }
    let dir = Dir::new("rust");
    dir.write(
        "ledgers.rs",
        "mod bank {\n    pub static mut LOCK: [u64; 5] = [1; 5];\n    #[inline(never)]\n    \
         pub fn transfer() {\n        unsafe { libc_like() };\n        unsafe { LOCK[0] += 1 };\n    }\n    \
         unsafe extern \"C\" {\n        #[link_name = \"getpid\"]\n        fn libc_like() -> i32;\n    }\n}\n\
         fn main() { bank::transfer() }\n",
    );
    dir.run("rustc", &["-g", "-A", "warnings", "--edition=2024", "ledgers.rs"]);
    let program = dir.path("ledgers");
    let named = symbols_of(&program);
    let mangled = |part: &str| named.keys().find(|name| name.contains(part)).unwrap().clone();
    let call = return_address(&program, &mangled("4bank8transfer"), "");
    let ledger = ledger(&[Loaded::new(&program, BIAS)], &[(&[BIAS + call], 0)]);
    let symbols = Symbols::with_images(&ledger, no_dirs());
    let stack = symbols.stack(1);
    assert_eq!(place(&stack[0]), ("ledgers::bank::transfer", Some("ledgers.rs"), Some(5)));
    let lock = named[&mangled("4bank4LOCK")].0;
    assert_eq!(symbols.data(1, lock).unwrap().name, "ledgers::bank::LOCK");
}

/// Damage at every place that a header or table may lie: no answer is fine, a crash is not.
#[test]
fn damaged_files_are_survived() {
    if !have(&["cc", "objdump"]) {
        return;
    }
    let dir = Dir::new("damaged");
    let (program, _, call) = bank(&dir, &[]);
    let mut loaded = Loaded::new(&program, BIAS);
    // Not known: so that the damaged file is read and not turned away.
    loaded.build_id.clear();
    let ledger = ledger(&[loaded], &[(&[BIAS + call], 0)]);
    let whole = fs::read(&program).unwrap();
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = move |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below as u64) as usize
    };
    let mut named = 0;
    for round in 0..400 {
        let mut bytes = whole.clone();
        if round % 4 == 0 {
            bytes.truncate(random(whole.len()));
        }
        for _ in 0..1 + round % 40 {
            // Half of the damage goes to the headers, where it does most.
            let reach = if random(2) == 0 { 64.min(bytes.len()) } else { bytes.len() };
            let tail = random(2) == 0;
            if reach > 0 {
                let at = random(reach);
                let at = if tail { bytes.len() - 1 - at } else { at };
                bytes[at] = random(256) as u8;
            }
        }
        fs::write(&program, &bytes).unwrap();
        let symbols = Symbols::with_images(&ledger, no_dirs());
        let stack = symbols.stack(1);
        assert!(!stack.is_empty());
        named += usize::from(stack[0].function.is_some());
        let _ = symbols.data(1, call);
    }
    assert!(named > 0, "nothing was ever read: the test does not reach its aim");
}
