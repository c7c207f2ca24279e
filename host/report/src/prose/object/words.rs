//! The words for types of objects: one table, from which every sentence about an object is made.

use lockwright_ledger::rows::object::object_type::*;
use lockwright_ledger::rows::object::{object_end, object_op, object_state};

/// The verbs for a thread's use of an object: in the present and in the past.
#[derive(Clone, Copy, Debug)]
pub struct Verb {
    /// "waits on"
    pub now: &'static str,
    /// "began to wait on"
    pub then: &'static str,
}

/// A type of objects in words.
#[derive(Clone, Copy, Debug)]
pub struct Words {
    /// One of [`lockwright_ledger::rows::object::object_type`].
    pub builtin: u32,
    /// How it comes into being.
    pub init: Verb,
    /// How it comes into use.
    pub activate: Verb,
    /// How it goes out of use.
    pub deactivate: Verb,
    /// How it ends.
    pub destroy: Verb,
    /// In use: what "while it is" goes on with.
    pub in_use: &'static str,
    /// The verb for a thread that uses it; empty if it goes on to other things
    /// ([`lockwright_analysis::finding::object_types::has_user`]).
    pub user: &'static str,
    /// The function that initialises it; empty if the program knows.
    pub maker: &'static str,
    /// The function that destroys it, likewise.
    pub ender: &'static str,
    /// The advice to end its use.
    pub idle: &'static str,
}

const fn verb(now: &'static str, then: &'static str) -> Verb {
    Verb { now, then }
}

const INITIALISE: Verb = verb("initialises", "initialised");
const DESTROY: Verb = verb("destroys", "destroyed");
const WAIT: Verb = verb("waits on", "began to wait on");
const LEAVE: Verb = verb("stops waiting on", "stopped waiting on");
const TAKE: Verb = verb("takes", "took");
const UNLOCK: Verb = verb("unlocks", "unlocked");
const USE: Verb = verb("uses", "used");

/// The words for an object to wait on.
const fn waited(
    builtin: u32,
    maker: &'static str,
    ender: &'static str,
    idle: &'static str,
) -> Words {
    let (init, activate, deactivate, destroy) = (INITIALISE, WAIT, LEAVE, DESTROY);
    let (in_use, user) = ("waited on", "waits on");
    Words { builtin, init, activate, deactivate, destroy, in_use, user, maker, ender, idle }
}

/// The words for a lock.
const fn lock(builtin: u32, maker: &'static str, ender: &'static str) -> Words {
    let (activate, deactivate) = (TAKE, UNLOCK);
    let idle = "unlock it on every path";
    let (in_use, user) = ("held", "holds");
    Words { activate, deactivate, in_use, user, ..waited(builtin, maker, ender, idle) }
}

/// The words for an object that only an init function uses.
const fn attributes(builtin: u32, maker: &'static str, ender: &'static str) -> Words {
    let (activate, deactivate) = (USE, USE);
    let idle = "let its last use be over";
    let (in_use, user) = ("in use", "uses");
    Words { activate, deactivate, in_use, user, ..waited(builtin, maker, ender, idle) }
}

const BROADCAST: &str = "wake its waiters and join their threads";

/// All types; the first stands for those of the program's own, and of later versions.
pub const TYPES: [Words; 16] = [
    Words {
        builtin: OWN,
        init: INITIALISE,
        activate: verb("activates", "activated"),
        deactivate: verb("deactivates", "deactivated"),
        destroy: DESTROY,
        in_use: "active",
        user: "",
        maker: "",
        ender: "",
        idle: "deactivate it",
    },
    lock(MUTEX, "pthread_mutex_init or PTHREAD_MUTEX_INITIALIZER", "pthread_mutex_destroy"),
    lock(RWLOCK, "pthread_rwlock_init or PTHREAD_RWLOCK_INITIALIZER", "pthread_rwlock_destroy"),
    waited(
        COND,
        "pthread_cond_init or PTHREAD_COND_INITIALIZER",
        "pthread_cond_destroy",
        BROADCAST,
    ),
    waited(SEMAPHORE, "sem_init", "sem_destroy", "post it for each waiter and join their threads"),
    waited(
        BARRIER,
        "pthread_barrier_init",
        "pthread_barrier_destroy",
        "join the threads that meet at it",
    ),
    lock(SPIN, "pthread_spin_init", "pthread_spin_destroy"),
    Words {
        activate: verb("runs", "ran"),
        deactivate: verb("leaves", "left"),
        in_use: "running",
        user: "runs",
        ..waited(ONCE, "PTHREAD_ONCE_INIT or ONCE_FLAG_INIT", "", "let its function return")
    },
    lock(MTX, "mtx_init", "mtx_destroy"),
    waited(CND, "cnd_init", "cnd_destroy", BROADCAST),
    Words {
        builtin: TIMER,
        init: verb("creates", "created"),
        activate: verb("arms", "armed"),
        deactivate: verb("disarms", "disarmed"),
        destroy: verb("deletes", "deleted"),
        in_use: "armed",
        user: "",
        maker: "timer_create",
        ender: "timer_delete",
        idle: "disarm it (timer_settime with zeros)",
    },
    attributes(ATTR, "pthread_attr_init", "pthread_attr_destroy"),
    attributes(MUTEXATTR, "pthread_mutexattr_init", "pthread_mutexattr_destroy"),
    attributes(RWLOCKATTR, "pthread_rwlockattr_init", "pthread_rwlockattr_destroy"),
    attributes(CONDATTR, "pthread_condattr_init", "pthread_condattr_destroy"),
    attributes(BARRIERATTR, "pthread_barrierattr_init", "pthread_barrierattr_destroy"),
];

/// The words for a type.
pub fn of(builtin: u32) -> &'static Words {
    TYPES.iter().find(|words| words.builtin == builtin).unwrap_or(&TYPES[0])
}

/// The kernel's debugobjects' name for an operation on an object in that state.
pub fn in_the_kernels(op: u8, was: u8) -> Option<String> {
    let state = match was {
        object_state::NONE => "an object that is not tracked",
        object_state::INIT => "an initialised object",
        object_state::INACTIVE => "an inactive object",
        object_state::ACTIVE => "an active object",
        object_state::DESTROYED => "a destroyed object",
        object_state::NOTAVAILABLE => "an object that is not available",
        _ => return None,
    };
    let done = match op {
        object_op::INIT => "is initialised",
        object_op::INIT_ON_STACK => "is initialised on the stack",
        object_op::ACTIVATE => "is activated",
        object_op::DEACTIVATE => "is deactivated",
        object_op::DESTROY => "is destroyed",
        object_op::FREE => "is freed",
        object_op::ASSERT_INIT => "is asserted to be initialised",
        object_op::ACTIVE_STATE => "is moved on in its own states",
        object_op::NO_OBJ_FREED => "lies in memory that goes",
        _ => return None,
    };
    Some(format!("as the kernel's debugobjects puts it: {state} {done}"))
}

/// How the memory of an object went.
#[derive(Clone, Copy, Debug)]
pub struct Gone {
    /// Around the object's name, in a sentence about now.
    pub now: (&'static str, &'static str),
    /// In a sentence about what was.
    pub then: &'static str,
    /// The thread's action on the object: the words before its name, and after.
    pub act: (&'static str, &'static str),
    /// As evidence.
    pub evidence: &'static str,
    /// As help, where there is more to say than to destroy it before.
    pub help: &'static str,
}

/// The words for one of [`object_end`].
pub fn gone(how: u8) -> Gone {
    match how {
        object_end::FREED => Gone {
            now: ("the memory of ", " is freed"),
            then: "its memory was freed",
            act: ("frees", ""),
            evidence: "its memory was freed",
            help: "",
        },
        object_end::MOVED => Gone {
            now: ("", " is moved by realloc"),
            then: "realloc moved it",
            act: ("moves", " with realloc"),
            evidence: "realloc moved its block: a thread that uses it continues in the old block",
            help: "or give it a block of its own, and keep a pointer to that in the one that grows",
        },
        object_end::UNMAPPED => Gone {
            now: ("the memory of ", " is unmapped"),
            then: "its memory was unmapped",
            act: ("unmaps", ""),
            evidence: "its memory was unmapped",
            help: "",
        },
        object_end::FRAME => Gone {
            now: ("the stack frame of ", " is left"),
            then: "its function returned",
            act: ("leaves the stack frame of", ""),
            evidence: "the function returned on whose stack it was",
            help: "or give it a longer life than the function: on the heap, or static",
        },
        object_end::THREAD => Gone {
            now: ("", " goes with its thread"),
            then: "its thread ended",
            act: ("ends and abandons", ""),
            evidence: "the thread ended on whose stack, or in whose thread-local memory, it was",
            help: "or give it a longer life than the thread: on the heap, or static",
        },
        object_end::UNLOADED => Gone {
            now: ("the module of ", " is unloaded"),
            then: "its module was unloaded",
            act: ("unloads the module of", ""),
            evidence: "the module that it is a variable of was unloaded",
            help: "",
        },
        object_end::EXIT => Gone {
            now: ("", " is left behind by the process"),
            then: "the process ended",
            act: ("ends the process with", ""),
            evidence: "the process ended",
            help: "",
        },
        object_end::REUSED | object_end::REUSED_ON_STACK => Gone {
            now: ("the place of ", " is initialised again"),
            then: "its memory was initialised again",
            act: ("initialises again the memory of", ""),
            evidence: "one is initialised where it was: its function, its block or another use of its memory was \
                       over, or it is initialised twice",
            help: "",
        },
        _ => Gone {
            now: ("", " is freed"),
            then: "the program freed it",
            act: ("frees", ""),
            evidence: "the program said that its life was over",
            help: "",
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockwright_analysis::finding::object_types;

    #[test]
    fn every_type_has_its_row() {
        for (number, words) in (0..).zip(&TYPES) {
            assert_eq!((words.builtin, object_types::known(number)), (number, number));
            assert_eq!(
                !words.user.is_empty(),
                object_types::has_user(number),
                "{}",
                object_types::name(number)
            );
        }
        assert_eq!(object_types::name(of(u32::MAX).builtin), "object");
    }
}
