/* Large numbers, where a tool with a table of fixed size or a quadratic loop shows it.
 *
 *   many held lifo|fifo|random   20,000 locks held at once by one thread, given up in that order
 *   many lives                   2,000,000 locks over the run, most of them short-lived, some nested
 *   many stacks                  100,000 classes: locks initialised by as many call stacks
 *   many statics                 100,000 classes: static variables
 *   many threads                 10,000 threads, up to 16 at a time
 *   many visitors                3,000 threads, one after the other, that take one lock
 *   many array                   100,000 locks of one array
 *   many circles                 300 pairs of locks taken in both orders, a third of them under a common lock and
 *                                a third by threads of which each ends before the next begins; all that 10 times
 *
 * All but the last end with one pair of locks taken in both orders by two threads.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HELD = 20000, LIVES = 2000000, STACKS = 100000, STATICS = 100000, THREADS = 10000, BATCH = 16, PAIRS = 300 };
enum { VISITORS = 3000, ARRAY = 100000 };

static pthread_mutex_t outer = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t left = PTHREAD_MUTEX_INITIALIZER, right = PTHREAD_MUTEX_INITIALIZER;
static unsigned long sum;

/* A hundred thousand variables of their own: static_lock_0, static_lock_1, ... */
__asm__(".altmacro\n"
	".macro one_static_lock n\n"
	".type static_lock_\\n, @object\n"
	".size static_lock_\\n, 40\n"
	"static_lock_\\n: .zero 40\n"
	".endm\n"
	".pushsection .bss\n"
	".balign 8\n"
	"static_locks:\n"
	".set static_lock_number, 0\n"
	".rept 100000\n"
	"one_static_lock %static_lock_number\n"
	".set static_lock_number, static_lock_number + 1\n"
	".endr\n"
	".popsection\n"
	".noaltmacro\n");
extern pthread_mutex_t static_locks[STATICS];
_Static_assert(sizeof(pthread_mutex_t) == 40, "static_lock_N is as large as a mutex");

static unsigned next_random(void)
{
	static unsigned long long state = 88172645463325252ull;
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state >> 16;
}

static void held(const char *how)
{
	pthread_mutex_t *locks = calloc(HELD, sizeof *locks);
	int *order = calloc(HELD, sizeof *order);

	for (int i = 0; i < HELD; i++) {
		pthread_mutex_init(&locks[i], NULL);
		order[i] = strcmp(how, "lifo") ? i : HELD - 1 - i;
	}
	if (!strcmp(how, "random")) {
		for (int i = HELD - 1; i > 0; i--) {
			int j = next_random() % (i + 1), other = order[i];
			order[i] = order[j];
			order[j] = other;
		}
	}
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < HELD; i++)
			pthread_mutex_lock(&locks[i]);
		for (int i = 0; i < HELD; i++)
			sum += pthread_mutex_unlock(&locks[order[i]]) == 0;
	}
}

struct object {
	pthread_mutex_t lock;
	unsigned long value;
};

static void lives(void)
{
	enum { LIVING = 1000 };
	struct object *objects = calloc(LIVING, sizeof *objects);

	for (int i = 0; i < LIVES; i++) {
		struct object *object = &objects[i % LIVING];
		int nested = i % 100 == 0;

		/* Memory that comes back zeroed, as a std::mutex in it would be; or initialised and destroyed. */
		if (i % 2)
			memset(object, 0, sizeof *object);
		else
			pthread_mutex_init(&object->lock, NULL);
		if (nested)
			pthread_mutex_lock(&outer);
		pthread_mutex_lock(&object->lock);
		object->value = i;
		sum += object->value;
		pthread_mutex_unlock(&object->lock);
		if (nested)
			pthread_mutex_unlock(&outer);
		if (i % 2 == 0)
			pthread_mutex_destroy(&object->lock);
	}
}

/* The bits of `path` say by which of two calls each level is reached. */
static __attribute__((noinline)) void descend(pthread_mutex_t *lock, unsigned path, int depth)
{
	if (depth == 0) {
		pthread_mutex_init(lock, NULL);
		__asm__ volatile("");
	} else if (path & 1) {
		descend(lock, path >> 1, depth - 1);
		__asm__ volatile("" ::"r"(1));
	} else {
		descend(lock, path >> 1, depth - 1);
		__asm__ volatile("" ::"r"(2));
	}
}

static void nest_all(pthread_mutex_t *locks, int n)
{
	for (int i = 0; i < n; i++) {
		pthread_mutex_lock(&outer);
		pthread_mutex_lock(&locks[i]);
		sum += i;
		pthread_mutex_unlock(&locks[i]);
		pthread_mutex_unlock(&outer);
	}
}

static void stacks(void)
{
	pthread_mutex_t *locks = calloc(STACKS, sizeof *locks);

	for (int i = 0; i < STACKS; i++)
		descend(&locks[i], i, 17);
	nest_all(locks, STACKS);
}

static void *visit(void *arg)
{
	pthread_mutex_lock(&outer);
	pthread_mutex_lock(arg);
	sum++;
	pthread_mutex_unlock(arg);
	pthread_mutex_unlock(&outer);
	return NULL;
}

static void threads(void)
{
	pthread_t running[BATCH];

	for (int i = 0; i < THREADS; i += BATCH) {
		for (int k = 0; k < BATCH; k++)
			pthread_create(&running[k], NULL, visit, &static_locks[(i + k) % 100]);
		for (int k = 0; k < BATCH; k++)
			pthread_join(running[k], NULL);
	}
}

static void *visit_one(void *arg)
{
	pthread_mutex_lock(arg);
	sum++;
	pthread_mutex_unlock(arg);
	return NULL;
}

static void visitors(void)
{
	for (int i = 0; i < VISITORS; i++) {
		pthread_t thread;

		pthread_create(&thread, NULL, visit_one, &outer);
		pthread_join(thread, NULL);
	}
}

static void array(void)
{
	static pthread_mutex_t locks[ARRAY];

	for (int i = 0; i < ARRAY; i++)
		visit_one(&locks[i]);
}

/* Whose turn it is. No lock, barrier or the like, which would order the two for good. */
static atomic_int turn;

static void await_turn(void)
{
	while (!atomic_load(&turn))
		sched_yield();
}

static void nest(pthread_mutex_t *a, pthread_mutex_t *b)
{
	pthread_mutex_lock(a);
	pthread_mutex_lock(b);
	sum++;
	pthread_mutex_unlock(b);
	pthread_mutex_unlock(a);
}

static void *forwards(void *arg)
{
	nest(&left, &right);
	atomic_store(&turn, 1);
	return arg;
}

static void *backwards(void *arg)
{
	await_turn();
	nest(&right, &left);
	return arg;
}

static void *circle(void *arg)
{
	int second = arg != NULL;

	if (second)
		await_turn();
	for (int i = 0; i < PAIRS; i++) {
		pthread_mutex_t *a = &static_locks[2 * i], *b = &static_locks[2 * i + 1];
		switch (i % 3) {
		case 0:
			nest(second ? b : a, second ? a : b);
			break;
		case 1:
			pthread_mutex_lock(&outer);
			nest(second ? b : a, second ? a : b);
			pthread_mutex_unlock(&outer);
			break;
		default:
			if (second) {
				nest(a, b);
				nest(b, a);
			}
		}
	}
	if (!second)
		atomic_store(&turn, 1);
	return NULL;
}

static void both(void *(*first)(void *), void *(*second)(void *))
{
	pthread_t one, two;

	atomic_store(&turn, 0);
	pthread_create(&one, NULL, first, NULL);
	pthread_create(&two, NULL, second, &turn);
	pthread_join(one, NULL);
	pthread_join(two, NULL);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (!strcmp(what, "held"))
		held(argc > 2 ? argv[2] : "lifo");
	else if (!strcmp(what, "lives"))
		lives();
	else if (!strcmp(what, "stacks"))
		stacks();
	else if (!strcmp(what, "statics"))
		nest_all(static_locks, STATICS);
	else if (!strcmp(what, "threads"))
		threads();
	else if (!strcmp(what, "visitors"))
		visitors();
	else if (!strcmp(what, "array"))
		array();
	else if (!strcmp(what, "circles"))
		for (int i = 0; i < 10; i++)
			both(circle, circle);
	else
		return 2;
	if (strcmp(what, "circles"))
		both(forwards, backwards);
	printf("%s: %lu\n", what, sum);
	return 0;
}
