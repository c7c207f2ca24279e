/* Threads take pairs of wound/wait mutexes in all orders, by contexts, and move what these guard. */
#include <lockwright.h>

#include <errno.h>
#include <pthread.h>
#include <stdio.h>

enum { THREADS = 4, ROUNDS = 1000, LOCKS = 3 };

static lw_ww_class_t class;
static struct account {
	lw_ww_mutex_t lock;
	long balance;
} accounts[LOCKS];

/* The kernel's pattern: a thread that has to back off first takes the lock that it was refused. */
static void lock_pair(struct account *one, struct account *other, lw_ww_ctx_t *ctx)
{
	int error = lw_ww_mutex_lock(&one->lock, ctx);
	while (error == EDEADLK) { /* wounded before */
		lw_ww_mutex_lock_slow(&one->lock, ctx);
		error = 0;
	}
	while (lw_ww_mutex_lock(&other->lock, ctx) == EDEADLK) {
		struct account *refused = other;
		lw_ww_mutex_unlock(&one->lock);
		lw_ww_mutex_lock_slow(&refused->lock, ctx);
		other = one;
		one = refused;
	}
}

static void *run(void *seed)
{
	unsigned number = (unsigned)(unsigned long)seed;
	for (int round = 0; round < ROUNDS; round++) {
		number = number * 1103515245 + 12345;
		struct account *from = &accounts[(number >> 16) % LOCKS];
		struct account *to = &accounts[((number >> 16) + 1 + (number >> 24) % (LOCKS - 1)) % LOCKS];
		lw_ww_ctx_t ctx;
		lw_ww_ctx_init(&ctx, &class);
		lock_pair(from, to, &ctx);
		from->balance--;
		to->balance++;
		lw_ww_mutex_unlock(&from->lock);
		lw_ww_mutex_unlock(&to->lock);
	}
	return NULL;
}

static void *wait_in_vain(void *result)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	*(int *)result = lw_ww_mutex_timedlock(&accounts[0].lock, NULL, &now);
	return NULL;
}

int main(void)
{
	static const unsigned algorithms[] = {LW_WAIT_DIE, LW_WOUND_WAIT};
	long sum = 0;
	int right = 0, late = 0;
	lw_ww_ctx_t ctx;
	pthread_t threads[THREADS];

	for (int a = 0; a < 2; a++) {
		lw_ww_class_init(&class, algorithms[a]);
		for (int i = 0; i < THREADS; i++)
			pthread_create(&threads[i], NULL, run, (void *)(i + 1L));
		for (int i = 0; i < THREADS; i++)
			pthread_join(threads[i], NULL);
	}
	for (int i = 0; i < LOCKS; i++)
		sum += accounts[i].balance;

	lw_ww_ctx_init(&ctx, &class);
	right += lw_ww_mutex_lock(&accounts[0].lock, &ctx) == 0;
	right += lw_ww_mutex_lock(&accounts[0].lock, &ctx) == EALREADY;
	right += lw_ww_mutex_trylock(&accounts[0].lock, NULL) == EBUSY;
	pthread_create(&threads[0], NULL, wait_in_vain, &late);
	pthread_join(threads[0], NULL);
	right += late == ETIMEDOUT;
	lw_ww_mutex_unlock(&accounts[0].lock);
	right += lw_ww_mutex_lock(&accounts[0].lock, NULL) == 0;
	lw_ww_mutex_unlock(&accounts[0].lock);
	right += lw_ww_class_init(&class, 2) == EINVAL;
	printf("%ld in all, %d right\n", sum, right);
	return 0;
}
