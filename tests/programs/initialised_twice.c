/* Objects on a stack that are initialised where one was which nobody had destroyed: the same ones again, and new ones.
 *
 * initialised_twice CASE
 */
#include <pthread.h>
#include <string.h>

#define WHOLE __attribute__((noipa))

static volatile int rows;

static void use(pthread_mutex_t *lock)
{
	pthread_mutex_lock(lock);
	rows++;
	pthread_mutex_unlock(lock);
}

/* The thread's own function, which has not returned in between. */
static void *again(void *nothing)
{
	pthread_mutex_t lock;

	pthread_mutex_init(&lock, NULL);
	use(&lock);
	pthread_mutex_init(&lock, NULL);
	use(&lock);
	pthread_mutex_destroy(&lock);
	return nothing;
}

/* The same call, the next time round. */
static void *loops(void *nothing)
{
	pthread_barrier_t barrier;

	for (int i = 0; i < 3; i++)
		pthread_barrier_init(&barrier, NULL, 1);
	pthread_barrier_destroy(&barrier);
	return nothing;
}

/* Each time round it is a new variable. */
static void *block_in_loop(void *nothing)
{
	for (int i = 0; i < 3; i++) {
		pthread_mutex_t lock;

		pthread_mutex_init(&lock, NULL);
		use(&lock);
	}
	return nothing;
}

/* Two variables in one place, perhaps. */
static void *blocks(void *nothing)
{
	{
		pthread_mutex_t first;

		pthread_mutex_init(&first, NULL);
		use(&first);
	}
	{
		pthread_mutex_t second;

		pthread_mutex_init(&second, NULL);
		use(&second);
	}
	return nothing;
}

WHOLE static void once(int way)
{
	pthread_mutex_t lock;

	if (way)
		pthread_mutex_init(&lock, NULL);
	else
		pthread_mutex_init(&lock, NULL);
	use(&lock);
}

/* A function that returns: each call has its own variable. */
static void *calls(void *nothing)
{
	for (int i = 0; i < 3; i++)
		once(i % 2);
	return nothing;
}

static inline __attribute__((always_inline)) void inlined(int way)
{
	pthread_mutex_t lock;

	if (way)
		pthread_mutex_init(&lock, NULL);
	else
		pthread_mutex_init(&lock, NULL);
	use(&lock);
}

/* The same, where the variable is on the frame of the thread's own function. */
static void *inlined_calls(void *nothing)
{
	for (int i = 0; i < 3; i++)
		inlined(i % 2);
	return nothing;
}

/* That is right. */
static void *destroys(void *nothing)
{
	pthread_mutex_t lock;

	pthread_mutex_init(&lock, NULL);
	use(&lock);
	pthread_mutex_destroy(&lock);
	pthread_mutex_init(&lock, NULL);
	use(&lock);
	pthread_mutex_destroy(&lock);
	return nothing;
}

static const struct {
	const char *name;
	void *(*run)(void *);
} cases[] = {
	{ "again", again }, { "loops", loops }, { "block-in-loop", block_in_loop },
	{ "blocks", blocks }, { "calls", calls }, { "inlined-calls", inlined_calls }, { "destroys", destroys },
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < sizeof(cases) / sizeof(*cases); i++)
		if (!strcmp(cases[i].name, argv[1])) {
			pthread_t thread;

			pthread_create(&thread, NULL, cases[i].run, NULL);
			pthread_join(thread, NULL);
			return 0;
		}
	return 2;
}
