//! What a thread that sleeps in futex(2) waits for, and which thread has it. The functions that it
//! is in say so, and the words that the C library and the kernel keep there.

use lockwright_glibc::Version;
use lockwright_glibc::table::{mutex, rwlock, thread};

use super::maps::Maps;
use super::memory::Memory;
use super::names::Names;
use crate::finding::{Frame, Name};

/// A call of futex(2) that a thread sleeps in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Futex {
    /// The word.
    pub address: u64,
    /// It ends by itself.
    pub is_timed: bool,
    /// Threads of other processes may be meant, too, if the memory is theirs, too.
    pub may_be_shared: bool,
    /// The kernel knows the owner by the word: FUTEX_LOCK_PI.
    pub is_pi: bool,
}

impl Futex {
    /// By the number of a system call and its arguments; nothing for other calls.
    pub fn of_call(number: i64, arguments: &[u64]) -> Option<Self> {
        let argument = |at: usize| arguments.get(at).copied().unwrap_or(0);
        match number {
            libc::SYS_futex => {
                let operation = argument(1) as i32;
                let command = operation & !(libc::FUTEX_PRIVATE_FLAG | libc::FUTEX_CLOCK_REALTIME);
                let is_pi = matches!(command, libc::FUTEX_LOCK_PI | FUTEX_LOCK_PI2);
                let waits = is_pi
                    || matches!(
                        command,
                        libc::FUTEX_WAIT | libc::FUTEX_WAIT_BITSET | libc::FUTEX_WAIT_REQUEUE_PI
                    );
                waits.then_some(Self {
                    address: argument(0),
                    is_timed: argument(3) != 0,
                    may_be_shared: operation & libc::FUTEX_PRIVATE_FLAG == 0,
                    is_pi,
                })
            }
            SYS_FUTEX_WAIT => Some(Self {
                address: argument(0),
                is_timed: argument(4) != 0,
                may_be_shared: argument(3) & u64::from(FUTEX2_PRIVATE) == 0,
                is_pi: false,
            }),
            _ => None,
        }
    }
}

/// Since Linux 5.14.
const FUTEX_LOCK_PI2: i32 = 13;
/// futex_wait(2), since Linux 6.7.
const SYS_FUTEX_WAIT: i64 = 455;
/// FUTEX2_PRIVATE of its flags.
const FUTEX2_PRIVATE: u32 = 128;

/// What is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitKind {
    /// A lock of pthreads that records its owner.
    Mutex,
    /// A rwlock of pthreads, to read.
    RwlockRead,
    /// A rwlock of pthreads, to write.
    RwlockWrite,
    /// The end of a thread.
    Join,
    /// A lock that has no owner in its words; of which library.
    Lock(&'static str),
    /// The signal of a condition, a semaphore, a barrier or the like: nobody in particular.
    Event(&'static str),
    /// A thread of a language's runtime has nothing to run, and of which.
    Idle(&'static str),
    /// It is not known what.
    Unknown,
}

/// By parts of the name of a function, all of which it must have; the first of a stack that has a
/// row here counts, and the first row.
const FUNCTIONS: &[(&[&str], WaitKind)] = &[
    (&["pthread_mutex_"], WaitKind::Mutex),
    (&["pthread_rwlock_", "rdlock"], WaitKind::RwlockRead),
    (&["pthread_rwlock_", "wrlock"], WaitKind::RwlockWrite),
    (&["pthread_cond_"], WaitKind::Event("a condition")),
    (&["pthread_barrier_wait"], WaitKind::Event("a barrier")),
    (&["pthread_clockjoin_ex"], WaitKind::Join),
    (&["pthread_timedjoin_ex"], WaitKind::Join),
    (&["pthread_join"], WaitKind::Join),
    (&["thrd_join"], WaitKind::Join),
    (&["new_sem_"], WaitKind::Event("a semaphore")),
    (&["sem_wait"], WaitKind::Event("a semaphore")),
    (&["sem_clockwait"], WaitKind::Event("a semaphore")),
    (&["sem_timedwait"], WaitKind::Event("a semaphore")),
    (&["pthread_once"], WaitKind::Lock("C library's once")),
    (&["cxa_guard_acquire"], WaitKind::Lock("C++ static variable")),
    (&["mutex::futex::Mutex", "lock_contended"], WaitKind::Lock("Rust Mutex")),
    (&["rwlock::futex::RwLock", "read_contended"], WaitKind::Lock("Rust RwLock")),
    (&["rwlock::futex::RwLock", "write_contended"], WaitKind::Lock("Rust RwLock")),
    (&["once::futex::Once"], WaitKind::Lock("Rust Once")),
    (&["condvar::futex::Condvar"], WaitKind::Event("a condition (Rust)")),
    (&["thread_parking::futex::Parker"], WaitKind::Event("an unpark (Rust)")),
    (&["parking_lot::raw_mutex::RawMutex", "lock_slow"], WaitKind::Lock("parking_lot Mutex")),
    (&["parking_lot::raw_rwlock::RawRwLock", "_slow"], WaitKind::Lock("parking_lot RwLock")),
    (&["parking_lot::condvar"], WaitKind::Event("a condition (parking_lot)")),
    (&["g_mutex_lock"], WaitKind::Lock("GLib mutex")),
    (&["g_rw_lock_"], WaitKind::Lock("GLib rwlock")),
    (&["g_bit_lock"], WaitKind::Lock("GLib bit lock")),
    (&["g_pointer_bit_lock"], WaitKind::Lock("GLib bit lock")),
    (&["g_cond_wait"], WaitKind::Event("a condition (GLib)")),
    (&["GOMP_barrier"], WaitKind::Event("a barrier (OpenMP)")),
    (&["gomp_barrier_wait"], WaitKind::Event("a barrier (OpenMP)")),
    (&["gomp_team_barrier_wait"], WaitKind::Event("a barrier (OpenMP)")),
    (&["gomp_mutex_lock"], WaitKind::Lock("OpenMP lock")),
    (&["absl::", "Mutex::LockSlow"], WaitKind::Lock("Abseil Mutex")),
    (&["absl::", "CondVar::Wait"], WaitKind::Event("a condition (Abseil)")),
    (&["QBasicMutex::lockInternal"], WaitKind::Lock("Qt mutex")),
    (&["QWaitCondition::wait"], WaitKind::Event("a condition (Qt)")),
    (&["runtime.stopm"], WaitKind::Idle("Go")),
    (&["runtime.stoplockedm"], WaitKind::Idle("Go")),
    (&["runtime.notetsleepg"], WaitKind::Idle("Go")),
    (&["runtime.lock2"], WaitKind::Lock("Go runtime lock")),
    (&["runtime.notesleep"], WaitKind::Idle("Go")),
    (&["lll_lock_wait_private"], WaitKind::Lock("C library's internal lock")),
];

/// What a Java thread waits for is said by functions of its virtual machine, which call pthreads.
const JAVA: &[(&str, WaitKind)] = &[
    ("ObjectMonitor::enter", WaitKind::Lock("Java monitor")),
    ("ObjectMonitor::EnterI", WaitKind::Lock("Java monitor")),
    ("ObjectMonitor::wait", WaitKind::Event("a notify (Java)")),
    ("Unsafe_Park", WaitKind::Event("an unpark (Java)")),
];

/// The kind of wait that a stack is in.
pub fn kind(stack: &[Frame]) -> WaitKind {
    let names = || stack.iter().filter_map(|frame| frame.function.as_deref());
    // Names without path are short enough to be met elsewhere, too.
    let is_jvm = |frame: &Frame| {
        frame.module.as_deref().is_some_and(|module| module.ends_with("/libjvm.so"))
    };
    let of_jvm = stack.iter().filter(|frame| is_jvm(frame));
    let of_java = of_jvm
        .filter_map(|frame| frame.function.as_deref())
        .find_map(|name| JAVA.iter().find(|(part, _)| name.contains(part)).map(|(_, kind)| *kind));
    let known = names().find_map(|name| {
        let has_all = |parts: &[&str]| parts.iter().all(|part| name.contains(part));
        FUNCTIONS.iter().find(|(parts, _)| has_all(parts)).map(|(_, kind)| *kind)
    });
    of_java.or(known).unwrap_or(WaitKind::Unknown)
}

/// The holder of what is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holder {
    /// This thread of the process.
    Thread(u32),
    /// A thread that has ended.
    Ended(u32),
    /// A thread of another process, by its id there.
    Elsewhere(u32),
    /// So many readers, which nothing names.
    Readers(u32),
    /// Nobody just now: it is being handed over.
    Nobody,
    /// A lock's words do not tell.
    NotRecorded,
    /// It is no lock.
    NoLock,
}

/// A wait for another thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wait {
    /// The call.
    pub futex: Futex,
    /// What for.
    pub kind: WaitKind,
    /// Address of the lock or other object, as far as its kind tells where the word lies in it.
    pub object: u64,
    /// The variable that it is or lies in.
    pub name: Option<Name>,
    /// The holder.
    pub holder: Holder,
    /// Another process may end it.
    pub is_shared: bool,
}

/// What a thread does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// It runs, or waits for a processor; or it did since it was first looked at.
    Runs,
    /// It is stopped, by a signal or a debugger: in this wait for another thread, to which it comes back.
    Stopped(Option<Wait>),
    /// It sleeps in a call, by its number, that signals do not interrupt: for a disk, or for a child after vfork(2).
    Uninterruptible(i64),
    /// It waits for another thread.
    Waits(Wait),
    /// It sleeps in another call, by its number, that ends by itself.
    SleepsForATime(i64),
    /// It sleeps in another call, by its number; -1: not known which.
    Sleeps(i64),
}

/// A thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thread {
    /// Its id in its own pid namespace.
    pub tid: u32,
    /// Its name.
    pub name: String,
    /// What it does.
    pub state: State,
    /// Where, innermost first. Empty where it is not known.
    pub stack: Vec<Frame>,
}

impl Thread {
    /// It is stopped.
    pub fn is_stopped(&self) -> bool {
        matches!(self.state, State::Stopped(_))
    }

    /// What it waits for, if that is another thread.
    pub fn wait(&self) -> Option<&Wait> {
        match &self.state {
            State::Waits(wait) | State::Stopped(Some(wait)) => Some(wait),
            _ => None,
        }
    }
}

/// Bits of a futex word that are the owner's id.
const TID_MASK: u32 = 0x3fff_ffff;

/// Where glibc's pthread_mutex_t has the owner's id, and its kind.
const MUTEX_OWNER: u64 = mutex::OWNER.always() as u64;
const MUTEX_KIND: u64 = mutex::KIND.always() as u64;
/// A bit of the kind: PTHREAD_PROCESS_SHARED.
const MUTEX_SHARED: u32 = 128;

/// The highest kind that there is.
const MUTEX_KINDS: u32 = 0x3ff;

/// Where glibc's pthread_rwlock_t has the readers' number, the two words that are waited at, and
/// the writer's id.
const RWLOCK_WORDS: [u64; 2] =
    [rwlock::WRITE_PHASE_FUTEX.always() as u64, rwlock::WRITERS_FUTEX.always() as u64];
const RWLOCK_WRITER: u64 = rwlock::CUR_WRITER.always() as u64;
/// Bits of the readers' word below their number.
const RWLOCK_READER_SHIFT: u32 = 3;

/// What a thread in `futex` waits for, of a process with the threads `tids`.
pub fn wait(
    futex: Futex,
    stack: &[Frame],
    tids: &[u32],
    memory: &impl Memory,
    maps: &Maps,
    names: &Names<'_>,
) -> Wait {
    let mut kind = kind(stack);
    if futex.is_pi {
        kind = WaitKind::Mutex;
    }
    let (object, mut holder) = holder(futex, kind, tids, memory);
    let is_recorded = kind == WaitKind::Join || !has_musl(maps);
    if holder != Holder::NoLock && !is_recorded {
        holder = Holder::NotRecorded;
    }
    // A condition's word is not at its beginning, but within the variable.
    let name = names.variable(object);
    let is_shared =
        futex.may_be_shared && maps.at(futex.address).is_none_or(|mapping| mapping.is_shared);
    Wait { futex, kind, object, name, holder, is_shared }
}

/// Whether the C library is musl's, which keeps owners elsewhere.
fn has_musl(maps: &Maps) -> bool {
    let name = |path: &'_ str| path.rsplit('/').next().unwrap_or_default().to_owned();
    let is_musl = |name: String| name.starts_with("ld-musl") || name.starts_with("libc.musl");
    maps.modules.iter().any(|module| is_musl(name(&module.path)))
}

/// Where the object is, and its holder.
fn holder(futex: Futex, kind: WaitKind, tids: &[u32], memory: &impl Memory) -> (u64, Holder) {
    let known = |tid: u32, is_shared: bool| match tid {
        0 => Holder::Nobody,
        tid if tids.contains(&tid) => Holder::Thread(tid),
        tid if is_shared => Holder::Elsewhere(tid),
        tid => Holder::Ended(tid),
    };
    let word = |at: u64| memory.u32(futex.address.wrapping_add(at));
    match kind {
        WaitKind::Mutex => {
            let kind = word(MUTEX_KIND);
            let is_shared = kind.is_some_and(|kind| kind & MUTEX_SHARED != 0);
            if kind.is_none_or(|kind| kind > MUTEX_KINDS) {
                return (futex.address, Holder::NotRecorded);
            }
            let owner = match futex.is_pi {
                true => word(0).map(|word| word & TID_MASK),
                false => word(MUTEX_OWNER),
            };
            (futex.address, owner.map_or(Holder::NotRecorded, |tid| known(tid, is_shared)))
        }
        WaitKind::RwlockRead | WaitKind::RwlockWrite => {
            // Which of the two words it is: whose writer is a thread, else whose readers are few.
            let lock = |at: &u64| {
                let base = futex.address.wrapping_sub(*at);
                let readers = memory.u32(base)? >> RWLOCK_READER_SHIFT;
                Some((base, memory.u32(base.wrapping_add(RWLOCK_WRITER))?, readers))
            };
            let all: Vec<_> = RWLOCK_WORDS.iter().filter_map(lock).collect();
            let written = all.iter().find(|(_, writer, _)| tids.contains(writer));
            let read = all.iter().find(|(_, writer, readers)| {
                *writer == 0 && *readers > 0 && *readers as usize <= tids.len()
            });
            match (written, read) {
                (Some(&(base, writer, _)), _) => (base, Holder::Thread(writer)),
                (None, Some(&(base, _, readers))) => (base, Holder::Readers(readers)),
                (None, None) => (futex.address.wrapping_sub(RWLOCK_WORDS[0]), Holder::NotRecorded),
            }
        }
        // The kernel clears the word when the thread has ended.
        WaitKind::Join => {
            let holder = match (word(0), joined(futex.address, memory)) {
                (Some(0), _) => Holder::Nobody,
                (_, Some(tid)) => known(tid, false),
                (_, None) => Holder::NotRecorded,
            };
            (futex.address, holder)
        }
        WaitKind::Lock(_) => (futex.address, Holder::NotRecorded),
        WaitKind::Event(_) | WaitKind::Idle(_) | WaitKind::Unknown => {
            (futex.address, Holder::NoLock)
        }
    }
}

/// The id of the thread whose end is waited for at `word` of its descriptor. Which word that is
/// depends on the version of that process's glibc; the descriptor is the one that begins with its
/// own address.
fn joined(word: u64, memory: &impl Memory) -> Option<u32> {
    const OLD: u64 = thread::TID.always() as u64;
    const NEW: u64 = thread::JOIN_STATE.at(Version::NEWEST).unwrap() as u64;
    let is_descriptor = |at: &u64| {
        let own = [thread::TCB, thread::SELF].map(|field| at.wrapping_add(field.always() as u64));
        own.iter().all(|&place| memory.u64(place) == Some(*at))
    };
    let descriptor = [NEW, OLD].map(|at| word.wrapping_sub(at)).into_iter().find(is_descriptor)?;
    memory.u32(descriptor.wrapping_add(OLD))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A stack of these functions, the innermost first.
    pub(crate) fn stack(functions: &[&str]) -> Vec<Frame> {
        let frame = |name: &&str| Frame { function: Some((*name).to_owned()), ..Frame::default() };
        functions.iter().map(frame).collect()
    }

    #[test]
    fn waits_are_told_apart_by_their_functions() {
        let mutex = ["__lll_lock_wait", "___pthread_mutex_lock", "left", "start_thread"];
        assert_eq!(kind(&stack(&mutex)), WaitKind::Mutex);
        // A wait for a condition that was signalled, and now wants its mutex.
        let again = ["__lll_lock_wait", "__pthread_mutex_cond_lock", "__pthread_cond_wait"];
        assert_eq!(kind(&stack(&again)), WaitKind::Mutex);
        let condition = ["__futex_abstimed_wait_common", "___pthread_cond_wait", "worker"];
        assert_eq!(kind(&stack(&condition)), WaitKind::Event("a condition"));
        let rust = ["syscall", "<std::sys::sync::mutex::futex::Mutex>::lock_contended", "main"];
        assert_eq!(kind(&stack(&rust)), WaitKind::Lock("Rust Mutex"));
        assert_eq!(kind(&stack(&["syscall", "main"])), WaitKind::Unknown);
    }

    #[test]
    fn calls_that_wait_are_known() {
        let futex = |operation: u64| Futex::of_call(libc::SYS_futex, &[0x1000, operation, 2, 0]);
        assert_eq!(
            futex(0x80),
            Some(Futex { address: 0x1000, is_timed: false, may_be_shared: false, is_pi: false })
        );
        assert!(futex(0x109).unwrap().may_be_shared, "WAIT_BITSET | CLOCK_REALTIME");
        assert!(futex(6 | 0x80).unwrap().is_pi);
        assert_eq!(futex(1 | 0x80), None, "a wake");
        assert_eq!(Futex::of_call(libc::SYS_read, &[0, 0, 0]), None);
        assert!(Futex::of_call(455, &[0x1000, 2, 1, 0x82, 0x7ffd]).unwrap().is_timed);
    }

    /// A mutex, or rwlock, in words.
    struct Words(Vec<u32>);

    impl Memory for Words {
        fn read(&self, address: u64, to: &mut [u8]) -> bool {
            let bytes: Vec<u8> = self.0.iter().flat_map(|word| word.to_le_bytes()).collect();
            let at = address.checked_sub(0x1000).and_then(|at| usize::try_from(at).ok());
            match at.and_then(|at| bytes.get(at..at + to.len())) {
                Some(bytes) => to.copy_from_slice(bytes),
                None => return false,
            }
            true
        }
    }

    /// Before glibc 2.43 joins wait at the thread's id, since then at a state elsewhere in its descriptor.
    #[test]
    fn joins_wait_for_a_thread_in_either_layout() {
        let descriptor = |state: u32| {
            let mut words = vec![0; 600];
            (words[0], words[4]) = (0x1000, 0x1000);
            (words[720 / 4], words[1576 / 4]) = (7, state);
            Words(words)
        };
        let of = |at: u64, words: &Words| {
            let address = 0x1000 + at;
            let join = Futex { address, is_timed: false, may_be_shared: true, is_pi: false };
            holder(join, WaitKind::Join, &[2, 7], words).1
        };
        assert_eq!(of(720, &descriptor(0)), Holder::Thread(7), "to 2.42");
        // The state is 2, and there is a thread of that id.
        assert_eq!(of(1576, &descriptor(2)), Holder::Thread(7), "from 2.43");
        assert_eq!(of(1576, &descriptor(0)), Holder::Nobody, "it has ended");
        assert_eq!(of(1580, &descriptor(2)), Holder::Nobody);
        assert_eq!(of(16, &descriptor(2)), Holder::NotRecorded);
    }

    #[test]
    fn owners_are_read_where_libraries_keep_them() {
        let futex = |at: u64| Futex {
            address: 0x1000 + at,
            is_timed: false,
            may_be_shared: false,
            is_pi: false,
        };
        let of = |kind, at, words: &[u32]| holder(futex(at), kind, &[7, 8], &Words(words.to_vec()));
        let mutex = |owner, kind| of(WaitKind::Mutex, 0, &[2, 0, owner, 1, kind, 0]).1;
        assert_eq!(mutex(7, 0), Holder::Thread(7));
        assert_eq!(mutex(0, 0), Holder::Nobody);
        assert_eq!(mutex(9, 0), Holder::Ended(9));
        assert_eq!(mutex(9, 128), Holder::Elsewhere(9));
        let pi = Futex { is_pi: true, ..futex(0) };
        let words = Words(vec![0x8000_0008, 0, 0, 0, 32]);
        assert_eq!(holder(pi, WaitKind::Mutex, &[8], &words).1, Holder::Thread(8));
        let written = [3, 0, 1, 0, 0, 0, 8, 0];
        assert_eq!(of(WaitKind::RwlockRead, 8, &written), (0x1000, Holder::Thread(8)));
        assert_eq!(of(WaitKind::RwlockWrite, 12, &written), (0x1000, Holder::Thread(8)));
        let read = [2 << 3, 0, 1, 0, 0, 0, 0, 0];
        assert_eq!(of(WaitKind::RwlockWrite, 8, &read), (0x1000, Holder::Readers(2)));
        assert_eq!(of(WaitKind::Join, 0, &[7]).1, Holder::NotRecorded, "no thread's descriptor");
        assert_eq!(of(WaitKind::Lock("Rust Mutex"), 0, &[2]).1, Holder::NotRecorded);
        assert_eq!(of(WaitKind::Mutex, 0x100, &[2]).1, Holder::NotRecorded, "no memory there");
    }
}
