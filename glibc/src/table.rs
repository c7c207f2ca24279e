//! The table: each object, each field of it, and where the field lies since which version.

use crate::Version;

/// A type of objects.
#[derive(Debug)]
pub struct Object {
    /// Its name in C.
    pub name: &'static str,
    /// Bytes that a program has for one.
    pub size: usize,
    /// Its known fields, of any version.
    pub fields: &'static [Field],
}

/// A field of an object.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// Its name in glibc.
    pub name: &'static str,
    /// Its bytes.
    pub size: usize,
    /// Its offsets, each with the version that introduced it, oldest first.
    places: &'static [(Version, usize)],
}

impl Field {
    /// Its offset in that version; `None` if that has no such field, or is older than the table.
    pub const fn at(&self, version: Version) -> Option<usize> {
        let mut next = self.places.len();
        while next > 0 {
            next -= 1;
            let (since, offset) = self.places[next];
            if version.is_at_least(since) {
                return Some(offset);
            }
        }
        None
    }

    /// Its offset in every version.
    ///
    /// # Panics
    /// If it moved. It is for constants: then the compiler says so.
    pub const fn always(&self) -> usize {
        let [(since, offset)] = self.places else { panic!("the field has moved: use `at`") };
        assert!(Version::OLDEST.is_at_least(*since), "the field is new: use `at`");
        *offset
    }
}

/// `/// Of the object. module "name" size aarch64 size { /// Of the field. FIELD "name" size: version => offset }`
macro_rules! objects {
    ($(
        $(#[$about:meta])*
        $module:ident $object:literal $size:literal $(aarch64 $of_aarch64:literal)? {
            $(
                $(#[$of_field:meta])*
                $field:ident $name:literal $bytes:literal:
                    $($major:literal, $minor:literal => $offset:literal);+;
            )*
        }
    )*) => {
        $(
            $(#[$about])*
            pub mod $module {
                use crate::{Field, Object, Version};

                $(
                    $(#[$of_field])*
                    pub const $field: Field = Field {
                        name: $name,
                        size: $bytes,
                        places: &[$((Version::new($major, $minor), $offset)),+],
                    };
                )*

                /// The whole object.
                pub const OBJECT: Object = Object {
                    name: $object,
                    size: crate::arch::bytes($size, &[$($of_aarch64)?]),
                    fields: &[$($field),*],
                };
            }
        )*

        /// All of them.
        pub const OBJECTS: &[Object] = &[$($module::OBJECT),*];
    };
}

objects! {
    /// Mutexes, and C11's `mtx_t`.
    mutex "pthread_mutex_t" 40 aarch64 48 {
        /// 0: free; of a robust or priority-inheriting one the owner's thread id.
        LOCK "__lock" 4: 2, 31 => 0;
        /// How often a recursive one is taken.
        COUNT "__count" 4: 2, 31 => 4;
        /// The owner's thread id.
        OWNER "__owner" 4: 2, 31 => 8;
        /// The owner, and those that wait for a condition with it.
        USERS "__nusers" 4: 2, 31 => 12;
        /// Type in the low bits, protocol and sharing above; -1 of a destroyed one.
        KIND "__kind" 4: 2, 31 => 16;
        /// How long an adaptive one spins.
        SPINS "__spins" 2: 2, 31 => 20;
        /// Lock elision, which 2.43 no longer has.
        ELISION "__elision" 2: 2, 31 => 22;
        /// The list of robust mutexes; other mutexes do not use it.
        LIST_PREV "__list.__prev" 8: 2, 31 => 24;
        /// See [`LIST_PREV`].
        LIST_NEXT "__list.__next" 8: 2, 31 => 32;
    }

    /// Reader-writer locks.
    rwlock "pthread_rwlock_t" 56 {
        /// The number of readers above three bits of state.
        READERS "__readers" 4: 2, 31 => 0;
        /// The number of writers that wait.
        WRITERS "__writers" 4: 2, 31 => 4;
        /// The word that readers wait at.
        WRITE_PHASE_FUTEX "__wrphase_futex" 4: 2, 31 => 8;
        /// The word that writers wait at.
        WRITERS_FUTEX "__writers_futex" 4: 2, 31 => 12;
        /// Unused.
        PAD3 "__pad3" 4: 2, 31 => 16;
        /// Unused.
        PAD4 "__pad4" 4: 2, 31 => 20;
        /// The writer's thread id.
        CUR_WRITER "__cur_writer" 4: 2, 31 => 24;
        /// 1: shared with other processes.
        SHARED "__shared" 4: 2, 31 => 28;
        /// Unused, except its first byte before 2.43: lock elision.
        PAD1 "__pad1" 8: 2, 31 => 32;
        /// Unused.
        PAD2 "__pad2" 8: 2, 31 => 40;
        /// Whether readers or writers go first.
        FLAGS "__flags" 4: 2, 31 => 48;
    }

    /// Condition variables, and C11's `cnd_t`. Before 2.41 eight bytes at 16 (`__g_refs`) counted
    /// the waiters of each group; since then eight bytes at 40 are unused, and a static initialiser
    /// may leave them as they were.
    cond "pthread_cond_t" 48 {
        /// Waiters so far, twice; the lowest bit names the group.
        WSEQ "__wseq" 8: 2, 31 => 0;
        /// Where the older group begins.
        G1_START "__g1_start" 8: 2, 31 => 8;
        /// Waiters of each group that no signal has been sent to.
        G_SIZE "__g_size" 8: 2, 31 => 24; 2, 41 => 16;
        /// The older group's first size, above two bits: the lock.
        G1_ORIG_SIZE "__g1_orig_size" 4: 2, 31 => 32; 2, 41 => 24;
        /// Shared (bit 0), CLOCK_MONOTONIC (1), destroyed (2); the number of waiters above them.
        WREFS "__wrefs" 4: 2, 31 => 36; 2, 41 => 28;
        /// Signals of each group.
        G_SIGNALS "__g_signals" 8: 2, 31 => 40; 2, 41 => 32;
    }

    /// Semaphores.
    semaphore "sem_t" 32 {
        /// The value.
        VALUE "value" 4: 2, 31 => 0;
        /// The number of waiters.
        WAITERS "nwaiters" 4: 2, 31 => 4;
        /// 128: shared with other processes.
        PRIVATE "private" 4: 2, 31 => 8;
        /// Unused.
        PAD "pad" 4: 2, 31 => 12;
    }

    /// Barriers.
    barrier "pthread_barrier_t" 32 {
        /// Threads that have come.
        IN "in" 4: 2, 31 => 0;
        /// Where the round began.
        CURRENT_ROUND "current_round" 4: 2, 31 => 4;
        /// How many threads meet.
        COUNT "count" 4: 2, 31 => 8;
        /// 128: shared with other processes.
        SHARED "shared" 4: 2, 31 => 12;
        /// Threads that have left.
        OUT "out" 4: 2, 31 => 16;
    }

    /// Spinlocks.
    spin "pthread_spinlock_t" 4 {
        /// [`SPIN_FREE`](super::SPIN_FREE): free. Taken: 0 and less where that is 1, else 1.
        WORD "" 4: 2, 31 => 0;
    }

    /// Controls of `pthread_once` and `call_once`.
    once "pthread_once_t" 4 {
        /// Two bits: the routine runs, has run; above them the number of forks when it began.
        WORD "" 4: 2, 31 => 0;
    }

    /// Attributes of threads.
    attr "pthread_attr_t" 56 aarch64 64 {
        /// The priority.
        PRIORITY "schedparam" 4: 2, 31 => 0;
        /// How it is scheduled.
        POLICY "schedpolicy" 4: 2, 31 => 4;
        /// Detached, and what has been set.
        FLAGS "flags" 4: 2, 31 => 8;
        /// Bytes of the guard area.
        GUARD_SIZE "guardsize" 8: 2, 31 => 16;
        /// The end of the stack.
        STACK_ADDRESS "stackaddr" 8: 2, 31 => 24;
        /// Bytes of the stack.
        STACK_SIZE "stacksize" 8: 2, 31 => 32;
        /// Affinity, and since 2.32 the signal mask: a pointer.
        EXTENSION "extension" 8: 2, 31 => 40;
    }

    /// Attributes of mutexes.
    mutex_attr "pthread_mutexattr_t" 4 aarch64 8 {
        /// Type in the low bits, protocol from bit 28, robust (30), shared (31).
        BITS "mutexkind" 4: 2, 31 => 0;
    }

    /// Attributes of reader-writer locks.
    rwlock_attr "pthread_rwlockattr_t" 8 {
        /// Whether readers or writers go first.
        KIND "lockkind" 4: 2, 31 => 0;
        /// 1: shared with other processes.
        SHARED "pshared" 4: 2, 31 => 4;
    }

    /// Attributes of condition variables.
    cond_attr "pthread_condattr_t" 4 aarch64 8 {
        /// Shared in bit 0, the clock above it.
        BITS "value" 4: 2, 31 => 0;
    }

    /// Attributes of barriers.
    barrier_attr "pthread_barrierattr_t" 4 aarch64 8 {
        /// 1: shared with other processes.
        SHARED "pshared" 4: 2, 31 => 0;
    }

    /// A thread's descriptor, as far as it matters: a `pthread_t` is its address, and it begins with
    /// that address.
    thread "struct pthread" 2304 {
        /// Its own address.
        TCB "header.tcb" 8: 2, 31 => 0;
        /// Its own address.
        SELF "header.self" 8: 2, 31 => 16;
        /// The kernel's id of the thread. Before 2.43 the kernel clears it when the thread ends,
        /// and `pthread_join` waits for that.
        TID "tid" 4: 2, 31 => 720;
        /// The word that the kernel clears since 2.43, and `pthread_join` waits at.
        JOIN_STATE "joinstate" 4: 2, 43 => 1576;
    }
}

/// Value of [`semaphore::PRIVATE`] and [`barrier::SHARED`]: shared with other processes.
pub const FUTEX_SHARED: u32 = 128;

/// Value of [`spin::WORD`]: free.
pub const SPIN_FREE: u32 = crate::arch::SPIN_FREE;

/// Bits of [`cond::WREFS`].
pub mod wrefs {
    /// Shared with other processes.
    pub const SHARED: u32 = 1;
    /// Waits with a timeout are by CLOCK_MONOTONIC.
    pub const MONOTONIC: u32 = 2;
    /// It is being destroyed, or was.
    pub const DESTROYED: u32 = 4;
    /// One waiter.
    pub const WAITER: u32 = 8;
}

/// Bytes of a condition variable that glibc uses: the rest may hold anything.
pub const fn cond_bytes(version: Version) -> Option<usize> {
    match cond::G_SIGNALS.at(version) {
        Some(offset) => Some(offset + cond::G_SIGNALS.size),
        None => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn versions() -> impl Iterator<Item = Version> {
        (31..=43).map(|minor| Version::new(2, minor))
    }

    #[test]
    fn condition_variables_moved_in_2_41() {
        for version in versions() {
            let (wrefs, bytes) = if version.minor < 41 { (36, 48) } else { (28, 40) };
            assert_eq!(cond::WREFS.at(version), Some(wrefs), "{version}");
            assert_eq!(cond_bytes(version), Some(bytes), "{version}");
        }
        assert_eq!(cond::WREFS.at(Version::new(2, 30)), None);
        assert_eq!(cond::WREFS.at(Version::new(3, 0)), Some(28));
    }

    #[test]
    fn joins_wait_at_another_word_since_2_43() {
        assert_eq!(thread::JOIN_STATE.at(Version::new(2, 42)), None);
        assert_eq!(thread::JOIN_STATE.at(Version::new(2, 43)), Some(1576));
        assert_eq!(thread::TID.always(), 720);
    }

    #[test]
    fn all_other_fields_are_where_they_were_in_2_31() {
        let moved = ["__g_size", "__g1_orig_size", "__wrefs", "__g_signals", "joinstate"];
        for field in OBJECTS.iter().flat_map(|object| object.fields) {
            if !moved.contains(&field.name) {
                let always = field.always();
                versions().for_each(|version| assert_eq!(field.at(version), Some(always)));
            }
        }
    }

    #[test]
    fn fields_lie_in_their_objects_apart_from_one_another() {
        for (object, version) in OBJECTS.iter().flat_map(|o| versions().map(move |v| (o, v))) {
            let mut ranges: Vec<_> = object
                .fields
                .iter()
                .filter_map(|field| Some((field.at(version)?, field.size, field.name)))
                .collect();
            ranges.sort_unstable();
            let mut end = 0;
            for (offset, size, name) in ranges {
                assert!(offset >= end, "{}: {name} in {version}", object.name);
                assert!(offset.is_multiple_of(size), "{}: {name} in {version}", object.name);
                end = offset + size;
            }
            assert!(end <= object.size, "{} in {version}", object.name);
        }
    }
}
