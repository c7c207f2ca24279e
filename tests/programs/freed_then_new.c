/* A lock is freed while it is held, and another comes to lie at the same place: it is not the first one, and nobody has it.
 *
 *   freed_then_new held    as above
 *   freed_then_new clean   the first is unlocked before it is freed
 */
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

static pthread_mutex_t other = PTHREAD_MUTEX_INITIALIZER;

static pthread_mutex_t *page;

static void maps(void)
{
	page = mmap(page, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static __attribute__((noinline)) void makes_first(void)
{
	maps();
	pthread_mutex_init(page, NULL);
}

static __attribute__((noinline)) void makes_second(void)
{
	maps();
	pthread_mutex_init(page, NULL);
}

/* The second lock is left locked: that is what is to be reported of it. */
static void *leaves(void *nothing)
{
	makes_second();
	pthread_mutex_lock(page);
	pthread_mutex_lock(&other);
	pthread_mutex_unlock(&other);
	return nothing;
}

static void *frees(void *how)
{
	makes_first();
	pthread_mutex_lock(page);
	if (!strcmp(how, "clean"))
		pthread_mutex_unlock(page);
	munmap(page, 4096);
	return leaves(NULL);
}

int main(int argc, char **argv)
{
	pthread_t thread;

	pthread_create(&thread, NULL, frees, argc > 1 ? argv[1] : "held");
	pthread_join(thread, NULL);
	return 0;
}
