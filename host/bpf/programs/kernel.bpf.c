/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The kernel's own locks: each wait between lock:contention_begin and lock:contention_end is added
 * to the row of its lock, flags, caller and thread.
 *
 * A thread sleeps for one lock at a time, so that a wait's beginning is kept by thread. A wait that
 * spins is kept by processor, on a small stack: an interrupt may wait for a lock of its own
 * meanwhile, and a queued rwlock's waiters spin for the lock of the queue.
 *
 * A mutex says "begin" each time that it goes from spinning to sleeping and back, and "end" once:
 * the first begin counts.
 *
 * Mutexes and rwsems record their owner. The owner at the begin of a wait has a row of its own.
 */
#include "bpf.h"

LICENCE;

/* include/trace/events/lock.h */
enum { SPIN = 1, READ = 2, WRITE = 4, RT = 8, PERCPU = 16, MUTEX = 32 };

/* Waits that can be nested on one processor: an rwlock, its queue, as much in an interrupt, and in
 * a non-maskable one. */
#define DEPTH 8

/* Fields of the kernel's structures, by their names there. */
struct word_of_long {
	s64 counter;
};

struct mutex {
	struct word_of_long owner;
} OF_KERNEL;

struct rw_semaphore {
	struct word_of_long owner;
} OF_KERNEL;

struct task_struct {
	s32 pid;
	s32 tgid;
	char comm[16];
} OF_KERNEL;

/* Bits of an owner's word that are no part of the address of its task. */
#define OWNER_BITS 7ULL
/* One of those in an rwsem: a reader has it, and other readers may, too. */
#define READER_OWNED 1

struct begun {
	u64 lock;
	u64 since;
	u32 flags;
	s32 stack;
};

/* The owner of a lock: a thread. */
struct owner {
	u32 tid;
	u32 tgid;
	u8 comm[16];
	u32 is_known;
	u32 is_reader;
};

struct slept {
	struct begun begun;
	struct owner owner;
};

/* Waits for a lock while a thread had it. */
struct owned {
	u64 lock;
	u32 tid;
	u32 tgid;
	u32 is_reader;
	u32 waiter; /* the process that waited */
};

struct spinning {
	u32 depth;
	u32 pad;
	struct begun begun[DEPTH];
};

struct key {
	u64 lock;
	u32 flags;
	s32 stack;
	u32 tid;
	u32 tgid;
};

struct sum {
	u64 count;
	u64 total_ns;
	u64 max_ns;
	u8 comm[16];
};

struct settings {
	u64 device; /* of the PID namespace in which threads have numbers, as nsfs has it */
	u64 inode;  /* likewise; 0: the initial namespace, and all below it */
	u64 has_types; /* the loader knows where this kernel has its fields */
};

/* Counters, by number; src/kernel.rs has the same. */
enum {
	WAITS,          /* ended */
	WAITED_NS,      /* in them */
	LOST_ROWS,      /* waits for which there was no row left */
	LOST_ROWS_NS,   /* in them */
	LOST_BEGINS,    /* begins that could not be kept */
	LOST_STACKS,    /* waits whose caller could not be kept */
	UNMATCHED_ENDS, /* of waits that began before these programs did, or were not kept */
	COUNTERS,
};

struct {
	UINT(type, MAP_ARRAY);
	UINT(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, struct settings);
} settings SEC(".maps");

struct {
	UINT(type, MAP_HASH);
	UINT(max_entries, 16384);
	TYPE(key, u32);
	TYPE(value, struct slept);
} sleeping SEC(".maps");

struct {
	UINT(type, MAP_PERCPU_HASH);
	UINT(max_entries, 8192);
	TYPE(key, struct owned);
	TYPE(value, struct sum);
} owners SEC(".maps");

struct {
	UINT(type, MAP_PERCPU_ARRAY);
	UINT(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, struct spinning);
} spinning SEC(".maps");

struct {
	UINT(type, MAP_PERCPU_HASH);
	UINT(max_entries, 8192);
	TYPE(key, struct key);
	TYPE(value, struct sum);
} waits SEC(".maps");

struct {
	UINT(type, MAP_STACK_TRACE);
	UINT(max_entries, 16384);
	UINT(key_size, 4);
	UINT(value_size, 24 * 8);
} stacks SEC(".maps");

struct {
	UINT(type, MAP_PERCPU_ARRAY);
	UINT(max_entries, COUNTERS);
	TYPE(key, u32);
	TYPE(value, u64);
} counters SEC(".maps");

INLINE void add(u32 counter, u64 what)
{
	u64 *value = map_lookup(&counters, &counter);

	/* The value of this processor; an interrupt may come in between. */
	if (value)
		__sync_fetch_and_add(value, what);
}

#define barrier() __asm__ volatile("" ::: "memory")

INLINE int spins(u32 flags)
{
	/* A mutex that spins goes to sleep in the same wait. */
	return (flags & SPIN) && !(flags & MUTEX);
}

INLINE s32 caller(void *context)
{
	s32 stack = (s32)get_stack_id(context, &stacks, 0);

	if (stack < 0)
		add(LOST_STACKS, 1);
	return stack;
}

/* Reads the owner of a mutex or an rwsem, of this kernel's types. */
INLINE void owner_of(u64 lock, u32 flags, struct owner *owner)
{
	u32 zero = 0;
	struct settings *set = map_lookup(&settings, &zero);
	struct mutex *mutex = (struct mutex *)lock;
	struct rw_semaphore *semaphore = (struct rw_semaphore *)lock;
	struct task_struct *task;
	u64 word = 0;

	if (!set || !set->has_types)
		return;
	if (flags & MUTEX) {
		/* Of kernels whose mutexes are rtmutexes none. */
		if (HAS(mutex->owner))
			read_kernel(&word, sizeof(word), &mutex->owner);
	} else if ((flags & (READ | WRITE)) && !(flags & (RT | PERCPU | SPIN))) {
		if (HAS(semaphore->owner))
			read_kernel(&word, sizeof(word), &semaphore->owner);
		owner->is_reader = word & READER_OWNED;
	}
	task = (struct task_struct *)(word & ~OWNER_BITS);
	if (!task || read_kernel(&owner->tid, sizeof(owner->tid), &task->pid) ||
	    read_kernel(&owner->tgid, sizeof(owner->tgid), &task->tgid) ||
	    read_kernel(owner->comm, sizeof(owner->comm), &task->comm))
		return;
	/* In another PID namespace than the initial one threads have other numbers. */
	if (set->inode)
		owner->tid = owner->tgid = 0;
	owner->is_known = 1;
}

INLINE void begin(void *context, u64 lock, u32 flags)
{
	struct begun begun = { .lock = lock, .flags = flags };
	u32 zero = 0;

	if (spins(flags)) {
		struct spinning *own = map_lookup(&spinning, &zero);
		u32 depth;

		if (!own)
			return;
		depth = own->depth;
		if (depth >= DEPTH) {
			/* Ends were missed. */
			add(LOST_BEGINS, DEPTH);
			depth = 0;
		}
		/* First the place is taken: an interrupt may come in between and use the next. */
		own->depth = depth + 1;
		barrier();
		begun.stack = caller(context);
		begun.since = now_ns();
		own->begun[depth] = begun;
	} else {
		u32 tid = (u32)pid_tgid();
		struct slept *old = map_lookup(&sleeping, &tid), slept = { 0 };

		if (old && old->begun.lock == lock)
			return;
		begun.stack = caller(context);
		owner_of(lock, flags, &slept.owner);
		begun.since = now_ns();
		slept.begun = begun;
		if (map_update(&sleeping, &tid, &slept, ANY))
			add(LOST_BEGINS, 1);
	}
}

/* The ids of the calling thread in the namespace of the command; 0: it has none there. */
INLINE u64 visible_ids(void)
{
	u32 zero = 0;
	struct settings *set = map_lookup(&settings, &zero);

	return set ? ids_in(set->device, set->inode) : pid_tgid();
}

INLINE void add_wait(struct sum *sum, u64 took)
{
	__sync_fetch_and_add(&sum->count, 1);
	__sync_fetch_and_add(&sum->total_ns, took);
	if (took > sum->max_ns)
		sum->max_ns = took;
}

INLINE void count_owner(u64 lock, const struct owner *owner, u64 took)
{
	struct owned owned = {
		.lock = lock,
		.tid = owner->tid,
		.tgid = owner->tgid,
		.is_reader = owner->is_reader,
		.waiter = (u32)(visible_ids() >> 32),
	};
	struct sum *sum;

	if (!owner->is_known)
		return;
	sum = map_lookup(&owners, &owned);
	if (!sum) {
		struct sum first = { 0 };

		map_update(&owners, &owned, &first, NOEXIST);
		sum = map_lookup(&owners, &owned);
	}
	if (!sum)
		return;
	__builtin_memcpy(sum->comm, owner->comm, sizeof(sum->comm));
	add_wait(sum, took);
}

INLINE void count(const struct begun *begun, u64 took)
{
	u64 id = visible_ids();
	struct key key = {
		.lock = begun->lock,
		.flags = begun->flags,
		.stack = begun->stack,
		.tid = (u32)id,
		.tgid = (u32)(id >> 32),
	};
	struct sum *sum;

	add(WAITS, 1);
	add(WAITED_NS, took);
	sum = map_lookup(&waits, &key);
	if (!sum) {
		struct sum first = { 0 };

		get_comm(first.comm, sizeof(first.comm));
		map_update(&waits, &key, &first, NOEXIST);
		sum = map_lookup(&waits, &key);
	}
	if (!sum) {
		add(LOST_ROWS, 1);
		add(LOST_ROWS_NS, took);
		return;
	}
	/* A row has a copy for each processor; an update writes the first one's alone. */
	if (!sum->count)
		get_comm(sum->comm, sizeof(sum->comm));
	add_wait(sum, took);
}

SEC("raw_tp/contention_begin")
int contention_begin(struct raw_args *context)
{
	begin(context, context->args[0], (u32)context->args[1]);
	return 0;
}

SEC("raw_tp/contention_end")
int contention_end(struct raw_args *context)
{
	u64 lock = context->args[0];
	u32 zero = 0, tid = (u32)pid_tgid();
	struct spinning *own = map_lookup(&spinning, &zero);
	struct slept *slept;

	/* The innermost wait on this processor first. Waits within it have ended unseen: the kernel runs
	 * no program within itself. */
	if (own) {
		u32 depth = own->depth;

#pragma unroll
		for (u32 down = 1; down <= DEPTH; down++) {
			u32 at = (depth - down) & (DEPTH - 1);

			if (down > depth)
				break;
			if (own->begun[at].lock == lock) {
				struct begun begun = own->begun[at];

				barrier();
				own->depth = at;
				if (down > 1)
					add(LOST_BEGINS, down - 1);
				count(&begun, now_ns() - begun.since);
				return 0;
			}
		}
	}
	slept = map_lookup(&sleeping, &tid);
	if (slept && slept->begun.lock == lock) {
		struct slept ended = *slept;
		u64 took = now_ns() - ended.begun.since;

		map_delete(&sleeping, &tid);
		count(&ended.begun, took);
		count_owner(lock, &ended.owner, took);
		return 0;
	}
	add(UNMATCHED_ENDS, 1);
	return 0;
}
