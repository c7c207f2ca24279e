/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Every futex of a process, or of the machine: each call that waits is added to the row of its
 * word, of the place that waited and of the place that woke it; each call that wakes to a row of
 * its own.
 *
 * A place is known by a number that is made of the registers and of the return addresses near the
 * stack pointer. The first time that a number is met, the top of the thread's stack is copied out,
 * for somebody to find the callers of: Debian's programs have no frame pointers, so that the kernel
 * cannot. So however many calls there are, there are no more copies than places.
 */
#include "bpf.h"

LICENCE;

/* arch/x86/include/asm/ptrace.h: registers at a system call, as 64-bit words. */
enum { REG_BP = 4, REG_R10 = 7, REG_R9 = 8, REG_R8 = 9, REG_DX = 12, REG_SI = 13, REG_DI = 14,
       REG_ORIG_AX = 15, REG_IP = 16, REG_SP = 19, REGS = 21 };

/* System calls of x86-64, and operations of futex(2). */
enum { SYS_FUTEX = 202, SYS_FUTEX_WAITV = 449, SYS_FUTEX_WAKE = 454, SYS_FUTEX_WAIT = 455 };
enum { OP_WAIT = 0, OP_WAKE = 1, OP_REQUEUE = 3, OP_CMP_REQUEUE = 4, OP_WAKE_OP = 5, OP_LOCK_PI = 6,
       OP_UNLOCK_PI = 7, OP_WAIT_BITSET = 9, OP_WAKE_BITSET = 10, OP_WAIT_REQUEUE_PI = 11,
       OP_CMP_REQUEUE_PI = 12, OP_LOCK_PI2 = 13 };
enum { OP_MASK = 0x7f };

/* Errors of a wait. */
enum { EAGAIN = 11, ETIMEDOUT = 110 };
/* A signal came, and the call begins again: it is one wait. */
enum { ERESTARTSYS = 512 };

/* Bytes of the stack that are copied out: callers of a lock are mostly nearer. */
#define COPIED 4096
/* Words near the stack pointer that tell a place. */
#define NEAR 16

struct settings {
	u32 only;    /* of this process alone; 0: of all */
	u32 but;     /* not of this one */
	u64 device;  /* of the PID namespace whose processes these are, as nsfs has it */
	u64 inode;   /* likewise; 0: the initial namespace, and all below it */
	u32 reports; /* the number that `only` has where the command runs; 0: the same */
	u32 pad;
};

struct place {
	u64 id;
	u32 tgid;
	u32 tid;
	u64 pc;
	u64 sp;
	u64 bp;
	u32 bytes;
	u32 pad;
	u8 comm[16];
	u8 stack[COPIED];
};

struct begun {
	u64 address;
	u64 place;
	u64 since;
	u32 tgid;
	u32 is_wake;
};

struct word {
	u64 address;
	u32 tgid;
	u32 pad;
};

struct waker {
	u64 place;
	u64 when;
};

struct key {
	u64 address;
	u64 waiter;
	u64 waker;
	u32 tgid;
	u32 is_wake;
};

struct sum {
	u64 count;    /* calls that waited, or that woke */
	u64 total_ns; /* waited; of calls that wake, how many they woke */
	u64 max_ns;
	u64 timed_out;
	u64 refused; /* waits that did not begin, as the word had changed */
};

/* Counters, by number; src/futex.rs has the same. */
enum {
	CALLS,          /* that waited, or that woke */
	LOST_ROWS,      /* calls for which there was no row left */
	LOST_ROWS_NS,   /* waited in them */
	LOST_BEGINS,    /* calls that could not be kept while they lasted */
	LOST_PLACES,    /* places whose stack could not be copied out */
	UNMATCHED_ENDS, /* calls that began before these programs did */
	WAITV,          /* calls of futex_waitv, which are not counted otherwise */
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
	TYPE(value, struct begun);
} inside SEC(".maps");

struct {
	UINT(type, MAP_HASH);
	UINT(max_entries, 16384);
	TYPE(key, u64);
	TYPE(value, u32);
} places SEC(".maps");

struct {
	UINT(type, MAP_RINGBUF);
	UINT(max_entries, 8 << 20);
} copies SEC(".maps");

struct {
	UINT(type, MAP_LRU_HASH);
	UINT(max_entries, 16384);
	TYPE(key, struct word);
	TYPE(value, struct waker);
} wakers SEC(".maps");

struct {
	UINT(type, MAP_PERCPU_HASH);
	UINT(max_entries, 8192);
	TYPE(key, struct key);
	TYPE(value, struct sum);
} rows SEC(".maps");

struct {
	UINT(type, MAP_PERCPU_ARRAY);
	UINT(max_entries, COUNTERS);
	TYPE(key, u32);
	TYPE(value, u64);
} counters SEC(".maps");

INLINE void add(u32 counter, u64 what)
{
	u64 *value = map_lookup(&counters, &counter);

	if (value)
		__sync_fetch_and_add(value, what);
}

/* The ids of the calling thread as pid_tgid() has them, but with the process's number where the command
 * runs. 0: it is not to be measured. A thread whose own PID namespace is another has no numbers. */
INLINE u64 chosen(void)
{
	u32 zero = 0;
	struct settings *set = map_lookup(&settings, &zero);
	u64 id;
	u32 tgid;

	if (!set)
		return 0;
	id = ids_in(set->device, set->inode);
	if (!id)
		return 0;
	tgid = (u32)(id >> 32);
	if (tgid == set->but || (set->only && set->only != tgid))
		return 0;
	if (set->reports)
		id = (u64)set->reports << 32 | (u32)id;
	return id;
}

/* Whether it may be an address of code, as Linux places programs and libraries. */
INLINE int is_code(u64 word)
{
	return (word >= 0x400000 && word < 0x10000000) ||
	       (word >= 0x550000000000 && word < 0x570000000000) ||
	       (word >= 0x7e0000000000 && word < 0x800000000000);
}

INLINE u64 mix(u64 hash, u64 word)
{
	/* FNV's prime, with the high bits brought down. */
	hash = (hash ^ word) * 0x100000001b3;
	return hash ^ (hash >> 29);
}

/* The number of the place; copies the stack out if it is new. */
INLINE u64 place_of(const u64 *regs, u64 id)
{
	u64 near[NEAR] = { 0 }, hash = 0xcbf29ce484222325;
	u32 seen = 1;
	struct place *place;
	const void *sp = (const void *)regs[REG_SP];

	hash = mix(hash, id >> 32);
	hash = mix(hash, regs[REG_SP]);
	hash = mix(hash, regs[REG_IP]);
	if (!read_user(near, sizeof(near), sp)) {
#pragma unroll
		for (int i = 0; i < NEAR; i++)
			if (is_code(near[i]))
				hash = mix(hash, near[i]);
	}
	if (map_lookup(&places, &hash))
		return hash;
	place = ring_reserve(&copies, sizeof(*place), 0);
	if (!place) {
		add(LOST_PLACES, 1);
		return 0;
	}
	if (map_update(&places, &hash, &seen, NOEXIST)) {
		/* Full, or another processor was quicker: with another thread's stack, as numbers have
		 * the stack pointer, that is the same place. */
		place->bytes = 0;
		place->id = 0;
		ring_submit(place, 0);
		if (map_lookup(&places, &hash))
			return hash;
		add(LOST_PLACES, 1);
		return 0;
	}
	place->id = hash;
	place->tgid = (u32)(id >> 32);
	place->tid = (u32)id;
	place->pc = regs[REG_IP];
	place->sp = regs[REG_SP];
	place->bp = regs[REG_BP];
	place->pad = 0;
	get_comm(place->comm, sizeof(place->comm));
	/* The stack may end before. */
	if (!read_user(place->stack, COPIED, sp))
		place->bytes = COPIED;
	else if (!read_user(place->stack, COPIED / 4, sp))
		place->bytes = COPIED / 4;
	else if (!read_user(place->stack, COPIED / 16, sp))
		place->bytes = COPIED / 16;
	else
		place->bytes = 0;
	ring_submit(place, 0);
	return hash;
}

SEC("raw_tp/sys_enter")
int futex_enter(struct raw_args *context)
{
	u64 number = context->args[1], id;
	u64 regs[REGS];
	u32 command, tid;
	struct begun begun = { 0 };

	if (number != SYS_FUTEX && (number < SYS_FUTEX_WAITV || number > SYS_FUTEX_WAIT))
		return 0;
	id = chosen();
	if (!id)
		return 0;
	if (read_kernel(regs, sizeof(regs), (const void *)context->args[0]))
		return 0;
	if (number == SYS_FUTEX) {
		command = (u32)regs[REG_SI] & OP_MASK;
		switch (command) {
		case OP_WAIT:
		case OP_WAIT_BITSET:
		case OP_WAIT_REQUEUE_PI:
		case OP_LOCK_PI:
		case OP_LOCK_PI2:
			break;
		case OP_WAKE:
		case OP_WAKE_BITSET:
		case OP_WAKE_OP:
		case OP_REQUEUE:
		case OP_CMP_REQUEUE:
		case OP_CMP_REQUEUE_PI:
		case OP_UNLOCK_PI:
			begun.is_wake = 1;
			break;
		default:
			return 0;
		}
	} else if (number == SYS_FUTEX_WAKE) {
		begun.is_wake = 1;
	} else if (number == SYS_FUTEX_WAITV) {
		add(WAITV, 1);
		return 0;
	} else if (number != SYS_FUTEX_WAIT) {
		return 0;
	}
	begun.address = regs[REG_DI];
	begun.tgid = (u32)(id >> 32);
	begun.place = place_of(regs, id);
	if (begun.is_wake) {
		struct word word = { .address = begun.address, .tgid = begun.tgid };
		struct waker waker = { .place = begun.place };

		waker.when = now_ns();
		map_update(&wakers, &word, &waker, ANY);
	}
	tid = (u32)id;
	begun.since = now_ns();
	if (map_update(&inside, &tid, &begun, ANY))
		add(LOST_BEGINS, 1);
	return 0;
}

SEC("raw_tp/sys_exit")
int futex_exit(struct raw_args *context)
{
	s64 result = (s64)context->args[1];
	u64 number, id, took;
	u32 tid;
	struct begun *begun;
	struct key key = { 0 };
	struct sum *sum;

	/* Before anything else: it is called at the end of every system call. */
	if (read_kernel(&number, sizeof(number), (const u64 *)context->args[0] + REG_ORIG_AX))
		return 0;
	if (number != SYS_FUTEX && number != SYS_FUTEX_WAKE && number != SYS_FUTEX_WAIT)
		return 0;
	id = chosen();
	if (!id)
		return 0;
	tid = (u32)id;
	begun = map_lookup(&inside, &tid);
	if (!begun) {
		add(UNMATCHED_ENDS, 1);
		return 0;
	}
	took = now_ns() - begun->since;
	key.address = begun->address;
	key.waiter = begun->place;
	key.tgid = begun->tgid;
	key.is_wake = begun->is_wake;
	if (!begun->is_wake && result == 0) {
		struct word word = { .address = begun->address, .tgid = begun->tgid };
		struct waker *waker = map_lookup(&wakers, &word);

		/* The last that was woken at the word: while this thread waited, or it is another's. */
		if (waker && waker->when >= begun->since)
			key.waker = waker->place;
	}
	map_delete(&inside, &tid);
	add(CALLS, 1);
	sum = map_lookup(&rows, &key);
	if (!sum) {
		struct sum first = { 0 };

		map_update(&rows, &key, &first, NOEXIST);
		sum = map_lookup(&rows, &key);
	}
	if (!sum) {
		add(LOST_ROWS, 1);
		if (!key.is_wake)
			add(LOST_ROWS_NS, took);
		return 0;
	}
	if (key.is_wake) {
		__sync_fetch_and_add(&sum->count, 1);
		if (result > 0)
			__sync_fetch_and_add(&sum->total_ns, (u64)result);
		return 0;
	}
	if (result == -EAGAIN) {
		__sync_fetch_and_add(&sum->refused, 1);
		return 0;
	}
	if (result != -ERESTARTSYS)
		__sync_fetch_and_add(&sum->count, 1);
	__sync_fetch_and_add(&sum->total_ns, took);
	if (took > sum->max_ns)
		sum->max_ns = took;
	if (result == -ETIMEDOUT)
		__sync_fetch_and_add(&sum->timed_out, 1);
	return 0;
}
