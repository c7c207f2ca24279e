/*
 * The hybrid mutex (src/sleeping/hybrid_mutex.rs) for Spin: `cargo xtask test promela`. Inlines, labels and
 * comments have the names of the functions there.
 *
 * What is checked, with threads that lock, lock until a deadline, and unlock:
 *
 *   exclusion   at most one thread has the lock;
 *   wake-ups    no thread sleeps for good: Spin reports a state in which nobody can go on;
 *   fairness    once the head has set FAIR, or an unlock_fair() for the head to come, no other thread
 *               takes the lock before the head has taken it or left: the bypass is bounded by zero, and
 *               by one where an unlock had looked at the word before;
 *   the word    what must hold of its bits does, after each change (CHECK_WORD), and once everybody
 *               is done it is 0, however many have given up;
 *   progress    (-DLIVENESS, weak fairness) a head is served, WOKEN is claimed, and the sleepers are
 *               not passed over for ever.
 *
 * How the code is modelled:
 *
 *   - A compare-exchange that succeeds is one `atomic` step, which decides by the word as it is. One
 *     that fails changes nothing, and the code decides anew. An unlock that finds SLOW_UNLOCK clear is
 *     two steps, the look and the addition.
 *   - SLOW_UNLOCK follows from the other bits. CHECK_WORD, which stands for tidy() as well, sets it;
 *     take() and the unlock that it allows do not touch it.
 *   - FUTEX_WAIT sleeps only if the word is still the one that the thread has decided by, so that
 *     decision and sleep are one step as well.
 *   - FUTEX_WAKE is a step of its own, after the compare-exchange that makes it due. The kernel wakes
 *     the first that sleeps with the bit; here it may be any, which is more than can happen.
 *   - Time is a choice: deadlines pass, budgets end, and sleepers become due at any time. Whether an
 *     attempt has a deadline is decided when it begins, so no deadline hides a lost wake-up.
 *   - Sleeps also end for no reason, STRAYS times: signals, and late wakes.
 *
 * What is left out: orderings (the loom models have them), GENERATION (forks), Uncounted (more
 * sleepers than the word can count), and RELEASES (which say when a spinner looks; here it may look at
 * any time, and a sleep that fails as they have changed is decided anew).
 *
 * -DFAULT=N plants a fault. The check fails unless Spin finds each of them.
 */

#ifndef THREADS
#define THREADS 3	/* 4 at most */
#endif
#ifndef ROUNDS
#define ROUNDS 2	/* how often each thread begins to lock; with LIVENESS as often as it likes */
#endif
#ifndef FAULT
#define FAULT 0
#endif
#ifndef STRAYS
#ifdef LIVENESS
#define STRAYS 0
#else
#define STRAYS 1
#endif
#endif

/* The word. */
bool locked;		/* LOCKED */
bool kept;		/* KEPT */
bool slow_unlock;	/* SLOW_UNLOCK */
bool head;		/* HEAD */
bool head_sleeps;	/* HEAD_SLEEPS */
bool fair;		/* FAIR */
bool woken;		/* WOKEN */
byte sleepers;		/* SLEEPERS */
bool noted;		/* GENERATION and ADMITTED may be other than 0 */

/* The futex: the bit that each thread sleeps with. */
#define AWAKE 0
#define AS_HEAD 1
#define AS_SLEEPER 2
byte asleep[4];
byte strays = STRAYS;

/* What the properties are about: no part of the lock. */
byte holders;		/* threads that have the lock */
bool excused;		/* FAIR came too late for one unlock: one thread may go before the head */
bool demanded;		/* FAIR was set, and the head has neither taken the lock nor left since */
byte done_threads;

/*
 * is_due(), and the restart of ADMITTED. Where only bad states are looked for, a sleeper may be due or
 * not at any time. For progress time passes.
 */
#ifdef LIVENESS
bool recent;
#define RESTART noted = true; recent = true
active proctype Clock() {
end:	do
	:: atomic { recent -> recent = false }
	od
}
#else
#define RESTART noted = true
#endif
#if FAULT == 14		/* however long they have slept */
#define IS_DUE false
#define NOT_DUE true
#elif defined(LIVENESS)
#define IS_DUE (!recent)
#define NOT_DUE recent
#else
#define IS_DUE true
#define NOT_DUE true
#endif

/* is_for_head() */
#define IS_FOR_HEAD (!locked || kept)

/* What follows from the other bits: tidy(). */
#define SOMEBODY_COMES ((head || woken) && !head_sleeps)
#define NEEDS_UNLOCK ((head || woken || sleepers > 0) && (!SOMEBODY_COMES || fair))

#define CHECK_WORD \
	slow_unlock = NEEDS_UNLOCK; \
	assert(!(woken && head)); \
	assert(head || !head_sleeps); \
	assert(!kept || !head_sleeps); \
	assert(locked || !fair || excused); \
	assert((locked && fair) || !kept); \
	assert(head || woken || !fair); \
	assert(sleepers <= THREADS); \
	assert(!woken || sleepers > 0); \
	assert(head || woken || sleepers > 0 || !noted)

inline tidy() {
	if
	:: !head && !woken && sleepers == 0 -> fair = false; noted = false; demanded = false; excused = false
	:: else
	fi;
	CHECK_WORD
}

inline wake_bitset(bits) {
	atomic {
		if
		:: asleep[0] == bits -> asleep[0] = AWAKE
		:: asleep[1] == bits -> asleep[1] = AWAKE
		:: asleep[2] == bits -> asleep[2] = AWAKE
		:: asleep[3] == bits -> asleep[3] = AWAKE
		:: else
		fi
	}
}

/* Somebody takes the lock who is not the head. */
inline take() {
	assert(!demanded || excused);
	excused = false;
	locked = true
}

/* The head takes the lock, or leaves. */
inline clear_head() {
	head = false;
	head_sleeps = false;
	demanded = false;
	excused = false;
	kept = false;
#if FAULT != 15
	fair = false
#else
	skip
#endif
}

proctype Thread(byte me) {
	byte left = ROUNDS;
	bool timed;	/* this attempt has a deadline */
	bool slept;	/* as in sleep() */
	bool expired;	/* as in sleep() and head() */
	bool naps;	/* this sleep ends by itself, after NAP */
#ifdef LIVENESS
	bool impatient;	/* the head has waited for some time */
#endif

next_round:
	slept = false;
	expired = false;
#ifdef LIVENESS
	impatient = false;
#endif
#ifdef LIVENESS
	if
	:: true
	:: goto done
	fi;
#else
	if
	:: left > 0 -> left--
	:: left == 0 -> goto done
	fi;
#endif
	if
	:: timed = false
	:: timed = true
	fi;

/* take() is the first branch of enter(); where the lock is LOCKED it changes nothing. */
enter:
	atomic {
		if
		:: !locked ->
#if FAULT == 10			/* a load and a store */
			goto torn_take
#else
			take(); goto critical_section
#endif
		:: else ->
			if
			:: !head && !woken && (sleepers == 0 || NOT_DUE) ->
				head = true; noted = true; CHECK_WORD; goto head_spins
			:: !head && !woken && sleepers > 0 && IS_DUE ->
				/* admits */
				sleepers++; woken = true; RESTART; CHECK_WORD
			:: head || woken ->
				sleepers++;
				if
				:: sleepers == 1 -> RESTART
				:: else
				fi;
				CHECK_WORD; goto sleep
			fi
		fi
	};
	wake_bitset(AS_SLEEPER);

sleep:
	skip;
	atomic {
		if
		:: !locked ->
			sleepers--;
#if FAULT != 11
			woken = false;
#endif
			take(); tidy(); goto critical_section
		:: else ->
			if
			:: woken && (slept || sleepers == 1) ->
				sleepers--; woken = false; head = true; CHECK_WORD; goto head_spins
#if FAULT == 5			/* though the wake was for it */
			:: timed && slept ->
#else
			:: expired && !woken ->
#endif
				sleepers--;
#if FAULT == 12
				CHECK_WORD;
#else
				tidy();
#endif
				goto next_round
			:: !expired && !(woken && (slept || sleepers == 1)) ->
#if FAULT == 16			/* waits for the one who is being woken, if there is one */
				naps = false;
#else
				naps = woken;
#endif
#if FAULT == 8			/* as if the kernel did not compare */
				goto torn_sleep
#else
				asleep[me] = AS_SLEEPER
#endif
			fi
		fi
	};
sleeping:
	skip;
	atomic {
		if
		:: asleep[me] == AWAKE					/* Woken */
		:: asleep[me] != AWAKE && naps -> asleep[me] = AWAKE		/* TooLate */
		:: asleep[me] != AWAKE && timed -> asleep[me] = AWAKE; expired = true
		:: asleep[me] != AWAKE && strays > 0 -> asleep[me] = AWAKE; strays--
		fi;
		naps = false; slept = true; goto sleep
	};

/* head(): spin() */
head_spins:
	skip;
	atomic {
		slept = false;
		if
		:: IS_FOR_HEAD ->
			expired = false;
#if FAULT == 9			/* a load and a store */
			goto torn_take_of_head
#else
			clear_head(); locked = true; tidy(); goto critical_section
#endif
		:: !IS_FOR_HEAD	/* need_resched() */
		fi
	};
	if
	:: timed -> goto leave	/* the deadline has come */
	:: !expired
	fi;
	atomic {
		if
#if FAULT == 13
		:: true		/* never */
#else
		:: !fair ->		/* demand() */
			fair = true;
			demanded = true;
			head_sleeps = false;
#if FAULT != 18
			if
			:: !locked -> locked = true; kept = true
			:: else
			fi;
#endif
			CHECK_WORD; goto head_spins
		:: fair
#ifdef LIVENESS
		:: !fair && !impatient -> impatient = true	/* PATIENCE is over at the second time */
#else
		:: !fair	/* PATIENCE is not over */
#endif
#endif
		fi
	};
sleep_as_head:
	skip;
	atomic {
		if
		:: !IS_FOR_HEAD ->
			head_sleeps = true;
#if FAULT != 19
			CHECK_WORD
#endif
		:: IS_FOR_HEAD -> goto head_spins
		fi
	};
	atomic {
		if
#if FAULT == 7			/* as if the kernel did not compare */
		:: true -> asleep[me] = AS_HEAD
#else
		:: locked && head_sleeps -> asleep[me] = AS_HEAD
		:: !(locked && head_sleeps) -> goto head_spins
#endif
		fi
	};
	atomic {
		if
		:: asleep[me] == AWAKE					/* Woken */
		:: asleep[me] != AWAKE && timed -> asleep[me] = AWAKE; expired = true	/* TooLate */
		:: asleep[me] != AWAKE && strays > 0 -> asleep[me] = AWAKE; strays--
		fi;
		if
		:: !head_sleeps -> expired = false; goto head_spins
		:: head_sleeps && expired -> goto head_spins
#if FAULT == 17			/* late wakes keep it from its clock, and so from FAIR */
		:: head_sleeps && !expired -> goto sleep_as_head
#else
		:: head_sleeps && !expired -> goto head_spins
#endif
		fi
	};

leave:
	skip;
	atomic {
		if
		:: IS_FOR_HEAD ->
			clear_head();
#if FAULT == 6			/* nobody takes the lock that an unlock has left to it */
			locked = false; tidy(); goto next_round
#else
			locked = true; tidy(); goto critical_section
#endif
		:: !IS_FOR_HEAD -> clear_head(); tidy(); goto next_round
		fi
	};

critical_section:
	skip;
	atomic { holders++; assert(holders == 1) };

/* release(): the look, and the addition */
	atomic {
		if
		:: !slow_unlock	/* is_left_alone() */
		:: goto unlock_slow
		fi
	};
	atomic {
		holders--;
		locked = false;
		/* released_late() */
#if FAULT != 20			/* though somebody needs it by now */
		if
		:: head_sleeps -> excused = fair; goto wake_head
#if FAULT != 21
		:: !head_sleeps && !head && !woken && sleepers > 0 -> goto wake_sleeper
		:: !head_sleeps && !(!head && !woken && sleepers > 0) -> excused = fair; goto next_round
#else
		:: !head_sleeps -> excused = fair; goto next_round
#endif
		fi
#else
		excused = fair; goto next_round
#endif
	};

unlock_slow:
	skip;
	atomic {
		holders--;
#if FAULT == 3			/* a store in place of the compare-exchange */
		head = false; head_sleeps = false; fair = false; woken = false; sleepers = 0; noted = false;
		slow_unlock = false;
#endif
		if
		:: !slow_unlock -> locked = false; goto next_round	/* nobody needs it any more */
		:: slow_unlock
		:: fair = true; demanded = true				/* unlock_fair() */
		fi;
#if FAULT == 4			/* not KEPT */
		locked = false; fair = false;
#else
		if
		:: fair && (head || woken || sleepers > 0) -> kept = true
		:: else -> locked = false; fair = false; demanded = false
		fi;
#endif
		if
		:: head_sleeps -> head_sleeps = false; CHECK_WORD
		:: !head_sleeps && !head && !woken && sleepers > 0 ->
			woken = true; CHECK_WORD; goto wake_sleeper
		:: !head_sleeps && !(!head && !woken && sleepers > 0) -> tidy(); goto next_round
		fi
	};
wake_head:
	skip;
#if FAULT != 1
	wake_bitset(AS_HEAD);
#endif
	goto next_round;
wake_sleeper:
#if FAULT != 2
	wake_bitset(AS_SLEEPER);
#endif
	goto next_round;

#if FAULT == 8
torn_sleep:
	skip;
	asleep[me] = AS_SLEEPER; goto sleeping;
#endif
#if FAULT == 9
torn_take_of_head:
	skip;
	atomic { clear_head(); locked = true; tidy(); goto critical_section };
#endif
#if FAULT == 10
torn_take:
	skip;
	atomic { take(); goto critical_section };
#endif

done:
	atomic {
		done_threads++;
		if
		:: done_threads == THREADS ->
			assert(!locked && !kept && !head && !head_sleeps && !fair && !woken && sleepers == 0);
			assert(!noted && !slow_unlock)
		:: else
		fi
	}
}

init {
	byte next;
	atomic {
		do
		:: next < THREADS -> run Thread(next); next++
		:: else -> break
		od
	}
}

#ifdef LIVENESS
ltl progress {
	[] (head -> <> !head)
	&& [] (woken -> <> !woken)
	&& [] (sleepers > 0 -> <> (woken || sleepers == 0))
}
#endif
