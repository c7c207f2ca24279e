//! What a call, or a jump out of a function, does to a lock: by the names of the functions that a module calls.

use std::collections::HashMap;
use std::fs::File;

use iced_x86::{FlowControl, Instruction, OpKind};
use object::read::{Object, ObjectSection, ObjectSymbol, ObjectSymbolTable, RelocationTarget};

use super::function::Function;

/// What a called function does to the lock that is its first argument, or to the way on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Does {
    /// It tries to take it.
    Tries,
    /// It waits for it.
    Waits,
    /// It waits for it, but not for ever.
    WaitsForATime,
    /// It releases it.
    Releases,
    /// It releases it, and takes it again before it returns.
    WaitsWithout,
    /// Nothing to any lock.
    Nothing,
    /// It does not return.
    Ends,
    /// It is not known.
    Unknown,
}

/// The wait of C++ on a condition variable, which is given a guard.
pub const GUARDED_WAIT: &str = "_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE";

/// What functions do, by their names in symbol tables.
const FUNCTIONS: &[(Does, &[&str])] = &[
    (
        Does::Tries,
        &[
            "pthread_mutex_trylock",
            "pthread_spin_trylock",
            "pthread_rwlock_tryrdlock",
            "pthread_rwlock_trywrlock",
            "sem_trywait",
            "mtx_trylock",
        ],
    ),
    (
        Does::Waits,
        &[
            "pthread_mutex_lock",
            "pthread_spin_lock",
            "pthread_rwlock_rdlock",
            "pthread_rwlock_wrlock",
            "sem_wait",
            "mtx_lock",
        ],
    ),
    (
        Does::WaitsForATime,
        &[
            "pthread_mutex_timedlock",
            "pthread_mutex_clocklock",
            "pthread_rwlock_timedrdlock",
            "pthread_rwlock_timedwrlock",
            "pthread_rwlock_clockrdlock",
            "pthread_rwlock_clockwrlock",
            "sem_timedwait",
            "sem_clockwait",
            "mtx_timedlock",
        ],
    ),
    (
        Does::Releases,
        &[
            "pthread_mutex_unlock",
            "pthread_spin_unlock",
            "pthread_rwlock_unlock",
            "sem_post",
            "mtx_unlock",
        ],
    ),
    (Does::WaitsWithout, &["pthread_cond_wait", "cnd_wait", GUARDED_WAIT]),
    (
        Does::Nothing,
        &[
            "sched_yield",
            "pthread_yield",
            "usleep",
            "sleep",
            "nanosleep",
            "clock_nanosleep",
            "clock_gettime",
            "gettimeofday",
            "time",
            "pthread_self",
            "gettid",
            "__errno_location",
            "thrd_yield",
            "thrd_sleep",
        ],
    ),
    (
        Does::Ends,
        &[
            "abort",
            "exit",
            "_exit",
            "_Exit",
            "__assert_fail",
            "__stack_chk_fail",
            "__cxa_throw",
            "_Unwind_Resume",
            "_ZSt9terminatev",
            "_ZSt20__throw_system_errori",
            "__cxa_throw_bad_array_new_length",
        ],
    ),
];

fn does(name: &str) -> Does {
    let is_it = |(_, names): &&(Does, &[&str])| names.contains(&name);
    FUNCTIONS.iter().find(is_it).map_or(Does::Unknown, |(does, _)| *does)
}

/// The functions of other modules that a module calls, and its own by their addresses.
pub struct Imports {
    /// By address of the slot that has a function's address.
    slots: HashMap<u64, String>,
    /// By their first addresses.
    own: HashMap<u64, String>,
    /// The linker's stubs: first address and bytes.
    stubs: Vec<Function>,
}

impl Imports {
    /// Those of a file.
    pub fn new<'data>(elf: &impl Object<'data>, file: &File) -> Self {
        let mut slots = HashMap::new();
        for (slot, relocation) in elf.dynamic_relocations().into_iter().flatten() {
            let RelocationTarget::Symbol(symbol) = relocation.target() else { continue };
            let table = elf.dynamic_symbol_table();
            let name = table.and_then(|table| {
                let symbol = table.symbol_by_index(symbol).ok()?;
                symbol.name().ok().map(str::to_owned)
            });
            slots.extend(name.filter(|name| does(name) != Does::Unknown).map(|name| (slot, name)));
        }
        let known = |symbol: &_| {
            let name = ObjectSymbol::name(symbol).ok()?;
            let is_here = ObjectSymbol::address(symbol) != 0 && does(name) != Does::Unknown;
            is_here.then(|| (ObjectSymbol::address(symbol), name.to_owned()))
        };
        let own = elf.symbols().filter_map(|symbol| known(&symbol)).collect();
        let is_stub = |name: &str| name.starts_with(".plt");
        let sections = elf.sections().filter(|section| section.name().is_ok_and(is_stub));
        let stubs = sections.filter_map(|section| {
            let (start, size) = (section.address(), section.size().min(1 << 20));
            Function::read(elf, file, start, size)
        });
        Self { slots, own, stubs: stubs.collect() }
    }

    /// The name of the function at an address; a stub is what it jumps to.
    fn at(&self, target: u64) -> Option<&str> {
        if let Some(name) = self.own.get(&target) {
            return Some(name);
        }
        let stub = self.stubs.iter().find(|stub| stub.has(target))?;
        // `endbr64`, and a jump by the slot.
        let instructions = stub.decoder(target).into_iter().flatten().take(2);
        let mut jumps = instructions.filter(|it| it.flow_control() == FlowControl::IndirectBranch);
        self.by_slot(&jumps.next()?)
    }

    /// The name of what an indirect call or jump goes to.
    fn by_slot(&self, call: &Instruction) -> Option<&str> {
        let is_slot = call.op0_kind() == OpKind::Memory && call.is_ip_rel_memory_operand();
        let slot = is_slot.then(|| call.ip_rel_memory_address())?;
        self.slots.get(&slot).map(String::as_str)
    }

    /// The name of what a call, or a jump out of the function, goes to.
    fn name(&self, call: &Instruction) -> Option<&str> {
        match call.flow_control() {
            FlowControl::Call | FlowControl::UnconditionalBranch => {
                self.at(call.near_branch_target())
            }
            _ => self.by_slot(call),
        }
    }

    /// Whether a call, or a jump out of the function, goes to the function of that name.
    pub fn is(&self, call: &Instruction, name: &str) -> bool {
        self.name(call) == Some(name)
    }

    /// What a call, or a jump out of the function, does.
    pub fn of(&self, call: &Instruction) -> Does {
        self.name(call).map_or(Does::Unknown, does)
    }
}
