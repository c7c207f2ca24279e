/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Every futex of a process, or of the machine: each call that waits is added to the row of its
 * word, of the place that waited and of the place that released the word; calls that wake are
 * counted.
 *
 * A place is known by a number that is made of the program counter and of the return addresses near
 * the stack pointer. The first time that a number is met, the top of the thread's stack is copied
 * out, for somebody to find the callers of: Debian's programs have no frame pointers, so that the
 * kernel cannot. So however many calls and threads there are, there are no more copies than places.
 *
 * The owner of a lock wakes its word when it releases the lock, if there are waiters. So the first
 * wake after a wait's begin is by the owner at that begin, whoever had the lock afterwards. Waits of
 * a word that begin between the same two wakes are a batch, and a batch has one first wake.
 *
 * A wait that a signal or a stop cuts is one wait with its continuation. A wait that ends with its
 * thread is counted then.
 */
#include "bpf.h"

LICENCE;

/* arch/x86/include/asm/ptrace.h: registers at a system call, as 64-bit words. */
enum { REG_BP = 4, REG_SI = 13, REG_DI = 14, REG_ORIG_AX = 15, REG_IP = 16, REG_SP = 19, REGS = 21 };

/* System calls of x86-64, and operations of futex(2). */
enum { SYS_FUTEX = 202, SYS_RESTART = 219, SYS_FUTEX_WAITV = 449, SYS_FUTEX_WAKE = 454,
       SYS_FUTEX_WAIT = 455 };
enum { OP_WAIT = 0, OP_WAKE = 1, OP_REQUEUE = 3, OP_CMP_REQUEUE = 4, OP_WAKE_OP = 5, OP_LOCK_PI = 6,
       OP_UNLOCK_PI = 7, OP_WAIT_BITSET = 9, OP_WAKE_BITSET = 10, OP_WAIT_REQUEUE_PI = 11,
       OP_CMP_REQUEUE_PI = 12, OP_LOCK_PI2 = 13 };
enum { OP_MASK = 0x7f };

/* Errors of a wait. */
enum { EINTR = 4, EAGAIN = 11, ETIMEDOUT = 110 };
/* A signal or a stop came: the first and the last of the kernel's codes for a call to be made again. */
enum { ERESTARTSYS = 512, ERESTART_RESTARTBLOCK = 516 };

/* Bytes of the stack that are copied out: callers of a lock are mostly nearer. */
#define COPIED 4096
/* Words near the stack pointer among which are the return addresses that tell a place, how many of those
 * tell it, and the words where there are fewer. */
#define NEAR 128
#define RETURNS 8
#define FEW 16
/* Bytes above the stack pointer that are the stack, and no code. */
#define OWN_STACK 65536

struct settings {
	u32 only;    /* of this process alone; 0: of all */
	u32 but;     /* not of this one */
	u64 device;  /* of the PID namespace whose processes these are, as nsfs has it */
	u64 inode;   /* likewise; 0: the initial namespace, and all below it */
	u32 reports; /* the number that `only` has where the command runs; 0: the same */
	u32 pad;
	u64 started; /* when all these programs were attached; 0: not yet */
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
	u64 object; /* the lock that a thread's own word stands for, or 0 */
	u64 place;
	u64 since;
	u64 cut;    /* when a signal or a stop cut it, until it is continued; else 0 */
	u64 batch;
	u64 pc;
	u64 sp;
	u32 tgid;
	u32 was_cut;
	u32 before;  /* it began before these programs were attached */
	u32 pad;
};

struct word {
	u64 address;
	u32 tgid;
	u32 pad;
};

/* The waits of a word that began between two wakes. */
struct batch {
	u64 address;
	u64 number;
	u32 tgid;
	u32 pad;
};

struct key {
	u64 address;
	u64 object;
	u64 waiter;
	u64 waker;
	u32 tgid;
	u32 pad;
};

struct sum {
	u64 count;    /* waits */
	u64 total_ns;
	u64 max_ns;
	u64 timed_out;
	u64 refused; /* waits that did not begin, as the word had changed */
	u64 before;  /* of the waits, those that began before these programs were attached */
	u64 ended;   /* of the waits, those that ended with their thread */
};

/* Counters, by number; src/load/futexes.rs has the same. */
enum {
	CALLS,          /* that waited, or that woke */
	WAKES,          /* calls that woke */
	WOKEN,          /* threads that they woke */
	LOST_ROWS,      /* waits for which there was no row left */
	LOST_ROWS_NS,   /* waited in them */
	LOST_BEGINS,    /* waits that could not be kept while they lasted */
	LOST_PLACES,    /* places whose stack could not be copied out */
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

struct near {
	u64 words[NEAR];
};

/* Too large for the stack of a program. */
struct {
	UINT(type, MAP_PERCPU_ARRAY);
	UINT(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, struct near);
} nears SEC(".maps");

struct {
	UINT(type, MAP_RINGBUF);
	UINT(max_entries, 8 << 20);
} copies SEC(".maps");

/* For each word the number of its batch, times two; odd if that batch has had its wake. */
struct {
	UINT(type, MAP_LRU_HASH);
	UINT(max_entries, 32768);
	TYPE(key, struct word);
	TYPE(value, u64);
} words SEC(".maps");

/* The place of the first wake of a batch. */
struct {
	UINT(type, MAP_LRU_HASH);
	UINT(max_entries, 65536);
	TYPE(key, struct batch);
	TYPE(value, u64);
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
INLINE int may_be_code(u64 word)
{
	return (word >= 0x400000 && word < 0x10000000) ||
	       (word >= 0x550000000000 && word < 0x570000000000) ||
	       (word >= 0x7e0000000000 && word < 0x800000000000);
}

/* Whether a word of the stack is a return address: a call stands before it. Addresses of data differ
 * from thread to thread, so that one place would have many numbers. */
INLINE int is_return(u64 word, u64 sp)
{
	u8 code[8];

	if (!may_be_code(word) || word - sp < OWN_STACK)
		return 0;
	if (read_user(code, sizeof(code), (const void *)(word - sizeof(code))))
		return 0;
	if (code[3] == 0xe8) /* call rel32 */
		return 1;
	if (code[6] == 0xff && (code[7] & 0xf8) == 0xd0) /* call register */
		return 1;
	if (code[5] == 0xff && ((code[6] & 0xf8) == 0x50 || code[6] == 0x14)) /* call [register + disp8] */
		return 1;
	if (code[4] == 0xff && code[5] == 0x54) /* the same, with an index */
		return 1;
	if (code[2] == 0xff && (code[3] == 0x15 || (code[3] & 0xf8) == 0x90)) /* call [rip or register + disp32] */
		return 1;
	return code[1] == 0xff && (code[2] == 0x94 || code[2] == 0x14); /* call [index + disp32] */
}

INLINE u64 mix(u64 hash, u64 word)
{
	/* FNV's prime, with the high bits brought down. */
	hash = (hash ^ word) * 0x100000001b3;
	return hash ^ (hash >> 29);
}

/* Return addresses that are added to a place's number. */
struct returns {
	u64 hash;
	u64 sp;
	u32 words;
	u32 found;
};

/* Adds the word `i` of `nears`, if it is a return address; not 0 at the last. A function of its own, for
 * the kernel to check it once and not each time. */
static s64 add_return(u64 i, struct returns *returns)
{
	u32 zero = 0;
	struct near *near = map_lookup(&nears, &zero);

	if (!near || i >= NEAR || i >= returns->words || returns->found >= RETURNS)
		return 1;
	if (is_return(near->words[i], returns->sp)) {
		returns->hash = mix(returns->hash, near->words[i]);
		returns->found++;
	}
	return 0;
}

/* The number of the place; copies the stack out if it is new. */
INLINE u64 place_of(const u64 *regs, u64 id)
{
	struct returns returns = { .hash = 0xcbf29ce484222325, .sp = regs[REG_SP] };
	u64 hash;
	u32 seen = 1, zero = 0;
	struct place *place;
	const void *sp = (const void *)regs[REG_SP];
	struct near *near = map_lookup(&nears, &zero);

	if (!near)
		return 0;
	if (!read_user(near->words, sizeof(near->words), sp))
		returns.words = NEAR;
	else if (!read_user(near->words, FEW * sizeof(u64), sp))
		returns.words = FEW;
	returns.hash = mix(returns.hash, id >> 32);
	returns.hash = mix(returns.hash, regs[REG_IP]);
	loop(returns.words, add_return, &returns, 0);
	hash = returns.hash;
	if (map_lookup(&places, &hash))
		return hash;
	place = ring_reserve(&copies, sizeof(*place), 0);
	if (!place) {
		add(LOST_PLACES, 1);
		return 0;
	}
	if (map_update(&places, &hash, &seen, NOEXIST)) {
		/* Full, or another processor was quicker: its copy is of the same place. */
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

/* parking_lot's waiters sleep at a word of their own. It lies behind the address of the lock's bits,
 * which say that the lock is held and has waiters; what has no such neighbour is no such word. */
#define PARKER_LOCK 32

INLINE u64 object_of(u64 address)
{
	u64 lock = 0;
	u8 bits = 0;

	if (read_user(&lock, sizeof(lock), (const void *)(address - PARKER_LOCK)) || lock < 4096)
		return 0;
	if (read_user(&bits, sizeof(bits), (const void *)(lock & ~1ULL)))
		return 0;
	return bits & 3 ? lock : 0;
}

/* The number of the batch that a wait which begins now is in: one without a wake so far. */
INLINE u64 batch_of(u64 address, u32 tgid)
{
	struct word word = { .address = address, .tgid = tgid };
	u64 *number = map_lookup(&words, &word), seen;

	if (!number) {
		/* Not a number that the word had before it was forgotten. */
		seen = now_ns() << 1;
		map_update(&words, &word, &seen, NOEXIST);
		number = map_lookup(&words, &word);
		if (!number)
			return 0;
	}
	seen = *number;
	if (seen & 1) {
		/* If another thread opened the next batch already, this wait is in that. */
		__sync_val_compare_and_swap(number, seen, seen + 1);
		seen++;
	}
	return seen;
}

INLINE void wakes(u64 address, u32 tgid, u64 place)
{
	struct word word = { .address = address, .tgid = tgid };
	struct batch batch = { .address = address, .tgid = tgid };
	u64 *number = map_lookup(&words, &word), seen;

	/* Nobody has waited there. */
	if (!number)
		return;
	seen = *number;
	if (seen & 1 || __sync_val_compare_and_swap(number, seen, seen + 1) != seen)
		return;
	batch.number = seen;
	map_update(&wakers, &batch, &place, ANY);
}

enum { NO_FUTEX, WAITS, WAKES_UP };

/* What a call of futex(2) or its like does. */
INLINE int purpose(u64 number, const u64 *regs)
{
	switch (number) {
	case SYS_FUTEX:
		switch ((u32)regs[REG_SI] & OP_MASK) {
		case OP_WAIT:
		case OP_WAIT_BITSET:
		case OP_WAIT_REQUEUE_PI:
		case OP_LOCK_PI:
		case OP_LOCK_PI2:
			return WAITS;
		case OP_WAKE:
		case OP_WAKE_BITSET:
		case OP_WAKE_OP:
		case OP_REQUEUE:
		case OP_CMP_REQUEUE:
		case OP_CMP_REQUEUE_PI:
		case OP_UNLOCK_PI:
			return WAKES_UP;
		}
		return NO_FUTEX;
	case SYS_FUTEX_WAKE:
		return WAKES_UP;
	case SYS_FUTEX_WAIT:
		return WAITS;
	}
	return NO_FUTEX;
}

INLINE struct sum *row_of(const struct key *key)
{
	struct sum *sum = map_lookup(&rows, key);

	if (!sum) {
		struct sum first = { 0 };

		map_update(&rows, key, &first, NOEXIST);
		sum = map_lookup(&rows, key);
	}
	return sum;
}

/* Adds a wait that ended at `now` to its row. */
INLINE void count(const struct begun *begun, u64 now, s64 result, int with_thread)
{
	u64 took = now - begun->since;
	struct key key = {
		.address = begun->address,
		.object = begun->object,
		.waiter = begun->place,
		.tgid = begun->tgid,
	};
	struct sum *sum;

	if (result == 0 && !with_thread) {
		struct batch batch = {
			.address = begun->address, .number = begun->batch, .tgid = begun->tgid
		};
		u64 *waker = map_lookup(&wakers, &batch);

		if (waker)
			key.waker = *waker;
	}
	sum = row_of(&key);
	if (!sum) {
		add(LOST_ROWS, 1);
		add(LOST_ROWS_NS, took);
		return;
	}
	/* A wait that was cut did begin, though the word has changed by now. */
	if (result == -EAGAIN && !begun->was_cut) {
		__sync_fetch_and_add(&sum->refused, 1);
		return;
	}
	__sync_fetch_and_add(&sum->count, 1);
	__sync_fetch_and_add(&sum->total_ns, took);
	if (took > sum->max_ns)
		sum->max_ns = took;
	if (result == -ETIMEDOUT)
		__sync_fetch_and_add(&sum->timed_out, 1);
	if (with_thread)
		__sync_fetch_and_add(&sum->ended, 1);
	if (begun->before)
		__sync_fetch_and_add(&sum->before, 1);
}

SEC("raw_tp/sys_enter")
int futex_enter(struct raw_args *context)
{
	u64 number = context->args[1], id;
	u64 regs[REGS];
	u32 tid;
	int what;
	struct begun begun = { 0 }, *old;

	if (number != SYS_FUTEX && number != SYS_RESTART &&
	    (number < SYS_FUTEX_WAITV || number > SYS_FUTEX_WAIT))
		return 0;
	id = chosen();
	if (!id)
		return 0;
	if (number == SYS_FUTEX_WAITV) {
		add(WAITV, 1);
		return 0;
	}
	if (read_kernel(regs, sizeof(regs), (const void *)context->args[0]))
		return 0;
	tid = (u32)id;
	begun.address = regs[REG_DI];
	begun.tgid = (u32)(id >> 32);
	begun.pc = regs[REG_IP];
	begun.sp = regs[REG_SP];
	what = number == SYS_RESTART ? WAITS : purpose(number, regs);
	if (what == NO_FUTEX)
		return 0;
	old = what == WAITS ? map_lookup(&inside, &tid) : 0;
	if (old && old->cut) {
		/* The continuation of a wait is made with the same registers. */
		if (old->sp == begun.sp && old->pc == begun.pc &&
		    (number == SYS_RESTART || old->address == begun.address)) {
			old->cut = 0;
			return 0;
		}
		if (number != SYS_RESTART)
			count(old, old->cut, -EINTR, 0);
	}
	if (number == SYS_RESTART)
		return 0;
	begun.place = place_of(regs, id);
	if (what == WAKES_UP) {
		wakes(begun.address, begun.tgid, begun.place);
		return 0;
	}
	begun.object = object_of(begun.address);
	begun.batch = batch_of(begun.address, begun.tgid);
	begun.since = now_ns();
	if (map_update(&inside, &tid, &begun, ANY))
		add(LOST_BEGINS, 1);
	return 0;
}

SEC("raw_tp/sys_exit")
int futex_exit(struct raw_args *context)
{
	s64 result = (s64)context->args[1];
	u64 number, id, regs[REGS];
	u32 tid, zero = 0;
	int what;
	struct begun *begun, ended;
	struct settings *set;

	/* Before anything else: it is called at the end of every system call. */
	if (read_kernel(&number, sizeof(number), (const u64 *)context->args[0] + REG_ORIG_AX))
		return 0;
	if (number != SYS_FUTEX && number != SYS_FUTEX_WAKE && number != SYS_FUTEX_WAIT &&
	    number != SYS_RESTART)
		return 0;
	id = chosen();
	if (!id)
		return 0;
	if (read_kernel(regs, sizeof(regs), (const void *)context->args[0]))
		return 0;
	what = number == SYS_RESTART ? WAITS : purpose(number, regs);
	if (what == NO_FUTEX)
		return 0;
	if (what == WAKES_UP) {
		add(CALLS, 1);
		add(WAKES, 1);
		if (result > 0)
			add(WOKEN, (u64)result);
		return 0;
	}
	tid = (u32)id;
	begun = map_lookup(&inside, &tid);
	if (begun && !begun->cut) {
		if (result <= -ERESTARTSYS && result >= -ERESTART_RESTARTBLOCK) {
			begun->was_cut = 1;
			begun->cut = now_ns();
			return 0;
		}
		ended = *begun;
		map_delete(&inside, &tid);
	} else {
		/* A call that began before these programs did; it waited for a futex. */
		set = map_lookup(&settings, &zero);
		if (begun || number == SYS_RESTART || !set || !set->started)
			return 0;
		__builtin_memset(&ended, 0, sizeof(ended));
		ended.address = regs[REG_DI];
		ended.object = object_of(ended.address);
		ended.tgid = (u32)(id >> 32);
		ended.pc = regs[REG_IP];
		ended.sp = regs[REG_SP];
		ended.place = place_of(regs, id);
		ended.since = set->started;
		ended.before = 1;
		if (result <= -ERESTARTSYS && result >= -ERESTART_RESTARTBLOCK) {
			ended.was_cut = 1;
			ended.cut = now_ns();
			if (map_update(&inside, &tid, &ended, ANY))
				add(LOST_BEGINS, 1);
			return 0;
		}
	}
	add(CALLS, 1);
	count(&ended, now_ns(), result, 0);
	return 0;
}

SEC("raw_tp/sched_process_exit")
int thread_exit(struct raw_args *context)
{
	u64 id = chosen();
	u32 tid = (u32)id;
	struct begun *begun, ended;

	(void)context;
	if (!id)
		return 0;
	begun = map_lookup(&inside, &tid);
	if (!begun)
		return 0;
	ended = *begun;
	map_delete(&inside, &tid);
	add(CALLS, 1);
	count(&ended, ended.cut ? ended.cut : now_ns(), 0, 1);
	return 0;
}
