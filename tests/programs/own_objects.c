/* Objects of the program's own that report their lives. The argument says which:
 *
 *   clean             a whole life, twice at one address
 *   init-active       an active object is initialised
 *   init-destroyed    a destroyed one is
 *   unknown           one is activated that was never initialised
 *   activate-active   an active one is activated
 *   activate-destroyed, deactivate-destroyed
 *   deactivate-unknown
 *   destroy-active, destroy-twice
 *   free-active       its life is over while it is active: lw_object_free
 *   assert            one is asserted to be initialised that is not
 *   asserted          one that is
 *   state             in the wrong state of the program's own
 *   states            in the right ones
 *   counting          deactivated while its own state is not 0
 *   heap, realloc, mapping   the memory of an active one is freed, moved, unmapped
 *   pool              it goes back to the program's own pool
 *   given-back        memory of objects that are not active is freed
 *   static            an unknown one that need not be initialised
 *   hinted            an active one with a hint is destroyed
 *   threads           one thread arms it, another destroys it
 *   types             two objects of two types at one address
 *   same-type         one type, and two descriptors of it
 *   once, reinit, must-destroy       rules of its type's own; -not: without them
 *   fixup-init, fixup-activate, fixup-unknown, fixup-destroy, fixup-free, fixup-heap, fixup-mapping, fixup-assert
 *                     the type's fixup puts right what was wrong
 *   fixup-refuses     it does not
 *   results           what activations return, which goes to stdout
 *   fork              in a forked child
 */
#define _GNU_SOURCE
#include <lockwright.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

struct timer {
	void (*function)(void);
	bool is_static;
};

static const struct lw_object_descr timer = {.name = "timer"};
static const struct lw_object_descr same_timer = {.name = "timer"};
static const struct lw_object_descr request = {.name = "request"};
static struct timer first, second = {.is_static = true};

/* Not inlined: reports name them. */
#define PLACE static __attribute__((noinline))

PLACE void make(void *object, const struct lw_object_descr *type)
{
	lw_object_init(object, type);
}

PLACE int arm(void *object, const struct lw_object_descr *type)
{
	return lw_object_activate(object, type);
}

PLACE void disarm(void *object, const struct lw_object_descr *type)
{
	lw_object_deactivate(object, type);
}

PLACE void end(void *object, const struct lw_object_descr *type)
{
	lw_object_destroy(object, type);
}

/* --- A type that is repaired --------------------------------------------------------------------------- */

static bool is_static(void *object)
{
	return ((struct timer *)object)->is_static;
}

static void *function_of(void *object)
{
	return (void *)((struct timer *)object)->function;
}

static bool stop(void *object, enum lw_object_state state);
static bool begin_anew(void *object, enum lw_object_state state);
static bool arm_anew(void *object, enum lw_object_state state);
static bool end_stopped(void *object, enum lw_object_state state);
static bool refuse(void *object, enum lw_object_state state);

static const struct lw_object_descr careful = {
	.name = "careful timer",
	.debug_hint = function_of,
	.is_static_object = is_static,
	.fixup_init = begin_anew,
	.fixup_activate = arm_anew,
	.fixup_destroy = end_stopped,
	.fixup_free = stop,
	.fixup_assert_init = begin_anew,
};
static const struct lw_object_descr hopeless = {
	.name = "hopeless timer",
	.fixup_init = refuse,
	.fixup_activate = refuse,
	.fixup_destroy = refuse,
	.fixup_free = refuse,
	.fixup_assert_init = refuse,
};

static int fixups;

static bool stop(void *object, enum lw_object_state state)
{
	fixups++;
	lw_object_deactivate(object, &careful);
	lw_object_free(object, &careful);
	return state == LW_OBJECT_ACTIVE;
}

static bool begin_anew(void *object, enum lw_object_state state)
{
	fixups++;
	if (state == LW_OBJECT_ACTIVE)
		lw_object_deactivate(object, &careful);
	lw_object_init(object, &careful);
	return true;
}

static bool arm_anew(void *object, enum lw_object_state state)
{
	fixups++;
	if (state == LW_OBJECT_ACTIVE)
		lw_object_deactivate(object, &careful);
	else
		lw_object_init(object, &careful);
	return lw_object_activate(object, &careful) == 0;
}

static bool end_stopped(void *object, enum lw_object_state state)
{
	fixups++;
	lw_object_deactivate(object, &careful);
	lw_object_destroy(object, &careful);
	return state == LW_OBJECT_ACTIVE;
}

static bool refuse(void *object, enum lw_object_state state)
{
	(void)object, (void)state;
	fixups++;
	return false;
}

PLACE void rings(void) {}

/* --- Memory -------------------------------------------------------------------------------------------- */

static void *armed_in(void *memory, const struct lw_object_descr *type)
{
	struct timer *object = memory;
	object->function = rings;
	object->is_static = false;
	make(object, type);
	arm(object, type);
	return object;
}

static void *page(void)
{
	void *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		abort();
	return memory;
}

/* A move for certain: the new block is there before the old one is gone, as is what comes after the old one. */
static void *moved(void *block, size_t size)
{
	static void *volatile fence;
	fence = malloc(size);
	block = realloc(block, 64 * size);
	free(fence);
	return block;
}

/* --- Threads ------------------------------------------------------------------------------------------- */

static void *arms(void *object)
{
	arm(object, &timer);
	return NULL;
}

static void in_thread(void *(*run)(void *), void *object)
{
	pthread_t thread;
	if (pthread_create(&thread, NULL, run, object) != 0)
		abort();
	pthread_join(thread, NULL);
}

/* ------------------------------------------------------------------------------------------------------- */

static void with_rule(unsigned flags, const char *what)
{
	const struct lw_object_descr *type = &request;
	static struct lw_object_descr strict = {.name = "strict request"};
	void *block = malloc(sizeof first);

	strict.flags = flags;
	if (!strstr(what, "-not"))
		type = &strict;
	make(block, type);
	if (!strncmp(what, "once", 4)) {
		make(block, type);
	} else if (!strncmp(what, "reinit", 6)) {
		end(block, type);
		make(block, type);
	}
	free(block);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	const struct lw_object_descr *type = &timer;
	void *block;

	if (!strncmp(what, "fixup-", 6))
		type = strcmp(what, "fixup-refuses") ? &careful : &hopeless;
	if (!strcmp(what, "clean")) {
		for (int life = 0; life < 2; life++) {
			make(&first, type);
			for (int use = 0; use < 3; use++)
				arm(&first, type), disarm(&first, type);
			end(&first, type);
			lw_object_free(&first, type);
		}
	} else if (!strcmp(what, "init-active") || !strcmp(what, "fixup-init") || !strcmp(what, "fixup-refuses")) {
		make(&first, type);
		arm(&first, type);
		make(&first, type);
	} else if (!strcmp(what, "init-destroyed")) {
		make(&first, type);
		end(&first, type);
		make(&first, type);
	} else if (!strcmp(what, "unknown") || !strcmp(what, "fixup-unknown")) {
		arm(&first, type);
	} else if (!strcmp(what, "activate-active") || !strcmp(what, "fixup-activate")) {
		make(&first, type);
		arm(&first, type);
		arm(&first, type);
		disarm(&first, type);
	} else if (!strcmp(what, "activate-destroyed") || !strcmp(what, "deactivate-destroyed")) {
		make(&first, type);
		end(&first, type);
		*what == 'a' ? (void)arm(&first, type) : disarm(&first, type);
	} else if (!strcmp(what, "deactivate-unknown")) {
		disarm(&first, type);
	} else if (!strcmp(what, "destroy-active") || !strcmp(what, "fixup-destroy")) {
		make(&first, type);
		arm(&first, type);
		end(&first, type);
	} else if (!strcmp(what, "destroy-twice")) {
		make(&first, type);
		end(&first, type);
		end(&first, type);
	} else if (!strcmp(what, "free-active") || !strcmp(what, "fixup-free")) {
		make(&first, type);
		arm(&first, type);
		lw_object_free(&first, type);
	} else if (!strcmp(what, "assert") || !strcmp(what, "fixup-assert")) {
		lw_object_assert_init(&first, type);
	} else if (!strcmp(what, "asserted")) {
		make(&first, type);
		lw_object_assert_init(&first, type);
		arm(&first, type);
		lw_object_assert_init(&first, type);
		disarm(&first, type);
		end(&first, type);
		lw_object_assert_init(&first, type);
	} else if (!strcmp(what, "state") || !strcmp(what, "states")) {
		make(&first, type);
		arm(&first, type);
		lw_object_active_state(&first, type, 0, 7);
		lw_object_active_state(&first, type, strcmp(what, "state") ? 7 : 3, 0);
		if (strcmp(what, "state"))
			disarm(&first, type);
	} else if (!strcmp(what, "counting")) {
		make(&first, type);
		arm(&first, type);
		lw_object_active_state(&first, type, 0, 7);
		disarm(&first, type);
	} else if (!strcmp(what, "heap") || !strcmp(what, "fixup-heap")) {
		free(armed_in(malloc(sizeof first), type));
	} else if (!strcmp(what, "realloc")) {
		free(moved(armed_in(malloc(sizeof first), type), sizeof first));
	} else if (!strcmp(what, "mapping") || !strcmp(what, "fixup-mapping")) {
		munmap(armed_in(page(), type), 4096);
	} else if (!strcmp(what, "pool")) {
		char *pool = calloc(4, 64);
		armed_in(pool + 128, type);
		lw_check_no_obj_freed(pool, 128);
		lw_check_no_obj_freed(pool + 128, 64);
		free(pool);
	} else if (!strcmp(what, "given-back")) {
		for (int life = 0; life < 3; life++) {
			block = armed_in(malloc(sizeof first), type);
			disarm(block, type);
			if (life == 1)
				end(block, type);
			free(block);
		}
	} else if (!strcmp(what, "static")) {
		arm(&second, &careful);
		disarm(&second, &careful);
		lw_object_assert_init(&second, &careful);
	} else if (!strcmp(what, "hinted")) {
		armed_in(&first, &careful);
		end(&first, &careful);
	} else if (!strcmp(what, "threads")) {
		make(&first, type);
		in_thread(arms, &first);
		end(&first, type);
	} else if (!strcmp(what, "types")) {
		make(&first, &timer);
		make(&first, &request);
		arm(&first, &timer);
		arm(&first, &request);
		disarm(&first, &timer);
		disarm(&first, &request);
	} else if (!strcmp(what, "same-type")) {
		make(&first, &timer);
		arm(&first, &same_timer);
		disarm(&first, &timer);
		end(&first, &same_timer);
	} else if (!strncmp(what, "once", 4)) {
		with_rule(LW_OBJECT_INIT_ONCE, what);
	} else if (!strncmp(what, "reinit", 6)) {
		with_rule(LW_OBJECT_REINIT, what);
	} else if (!strncmp(what, "must-destroy", 12)) {
		with_rule(LW_OBJECT_MUST_DESTROY, what);
	} else if (!strcmp(what, "results")) {
		int known, again, unknown, repaired, gone;
		unknown = arm(&first, &timer);
		make(&first, &timer);
		known = arm(&first, &timer);
		again = arm(&first, &timer);
		disarm(&first, &timer);
		end(&first, &timer);
		gone = arm(&first, &timer);
		repaired = arm(&first, &careful);
		printf("%d %d %d %d %d, %d fixups\n", unknown, known, again, gone, repaired, fixups);
	} else if (!strcmp(what, "fork")) {
		make(&first, type);
		arm(&first, type);
		fflush(NULL);
		if (fork() == 0) {
			end(&first, type);
			_exit(0);
		}
		wait(NULL);
		disarm(&first, type);
		end(&first, type);
	} else {
		return 2;
	}
	printf("%s: done\n", what);
	return 0;
}
