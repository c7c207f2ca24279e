/* A lock's life: what must not happen to it while it is held, and to it when it is over.
 *
 *   lifetime destroyed    destroyed while another thread holds it
 *   lifetime own          destroyed by the thread that holds it
 *   lifetime rwlock       a rwlock destroyed while another thread reads
 *   lifetime initialised  initialised again while another thread holds it
 *   lifetime used         locked after it was destroyed
 *   lifetime tried        tried for after it was destroyed
 *   lifetime read         a rwlock read-locked after another thread has destroyed it
 *   lifetime freed        its memory is freed while another thread holds it
 *   lifetime deep         as freed, with the lock three pages into the block
 *   lifetime huge         as deep, in a block that malloc maps for itself
 *   lifetime moved        as deep, by a realloc that moves the block
 *   lifetime unmapped     its memory is unmapped while another thread holds it
 *   lifetime clean        destroyed unlocked, initialised again, used, freed, unmapped: as it should be
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct session {
	char name[64];
	pthread_mutex_t lock;
	pthread_rwlock_t table;
};

enum { PAGE = 4096, MIB = 1 << 20 };

static struct session *session;
static sem_t holds, leave;

static void *user(void *arg)
{
	(void)arg;
	pthread_setname_np(pthread_self(), "user");
	pthread_mutex_lock(&session->lock);
	sem_post(&holds);
	sem_wait(&leave);
	return NULL; /* what was the lock may be gone: no unlock */
}

static void *reader(void *arg)
{
	(void)arg;
	pthread_setname_np(pthread_self(), "reader");
	pthread_rwlock_rdlock(&session->table);
	sem_post(&holds);
	sem_wait(&leave);
	return NULL;
}

static void *janitor(void *arg)
{
	(void)arg;
	pthread_setname_np(pthread_self(), "janitor");
	pthread_rwlock_destroy(&session->table);
	return NULL;
}

static void look_up(void)
{
	pthread_rwlock_rdlock(&session->table);
	pthread_rwlock_unlock(&session->table);
}

static pthread_t begin(void *(*run)(void *))
{
	pthread_t thread;

	pthread_create(&thread, NULL, run, NULL);
	sem_wait(&holds);
	return thread;
}

/* A session in a block of this size, `before` bytes into it. */
static char *block_with_session(size_t size, size_t before)
{
	char *block = malloc(size);

	session = (struct session *)(block + before);
	pthread_mutex_init(&session->lock, NULL);
	return block;
}

/* What lies behind a fresh block keeps it from growing in its place. */
static char *grow(char *block)
{
	char *behind = malloc(64);
	char *moved = realloc(block, 100 * PAGE);

	free(behind);
	return moved;
}

/* The holder outlives the process: its end is no part of the story. */
static void end(void)
{
	puts("the end");
	fflush(stdout);
	_Exit(0);
}

static void clean(void)
{
	pthread_mutex_destroy(&session->lock);
	for (int i = 0; i < 3; i++) {
		pthread_mutex_init(&session->lock, NULL);
		pthread_mutex_lock(&session->lock);
		pthread_mutex_unlock(&session->lock);
		pthread_mutex_destroy(&session->lock);
	}
	/* Initialised by assignment: a new life. */
	session->lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	pthread_mutex_lock(&session->lock);
	pthread_mutex_unlock(&session->lock);
	free(session);
	for (size_t before = 0; before < 5 * PAGE; before += 512) {
		char *block = block_with_session(6 * PAGE, before);

		pthread_mutex_lock(&session->lock);
		pthread_mutex_unlock(&session->lock);
		block = grow(block);
		if (session == (struct session *)(block + before))
			pthread_mutex_destroy(&session->lock);
		session = (struct session *)(block + before);
		pthread_mutex_init(&session->lock, NULL);
		pthread_mutex_lock(&session->lock);
		pthread_mutex_unlock(&session->lock);
		free(block);
	}
	session = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_mutex_init(&session->lock, NULL);
	pthread_mutex_lock(&session->lock);
	pthread_mutex_unlock(&session->lock);
	munmap(session, PAGE);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "clean";

	sem_init(&holds, 0, 0);
	sem_init(&leave, 0, 0);
	session = calloc(1, sizeof *session);
	if (!strcmp(how, "unmapped"))
		session = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_mutex_init(&session->lock, NULL);
	pthread_rwlock_init(&session->table, NULL);

	if (!strcmp(how, "destroyed")) {
		begin(user);
		pthread_mutex_destroy(&session->lock);
	} else if (!strcmp(how, "own")) {
		pthread_mutex_lock(&session->lock);
		pthread_mutex_destroy(&session->lock);
	} else if (!strcmp(how, "rwlock")) {
		begin(reader);
		pthread_rwlock_destroy(&session->table);
	} else if (!strcmp(how, "initialised")) {
		begin(user);
		pthread_mutex_init(&session->lock, NULL);
	} else if (!strcmp(how, "used")) {
		pthread_mutex_destroy(&session->lock);
		pthread_mutex_lock(&session->lock);
	} else if (!strcmp(how, "tried")) {
		pthread_mutex_destroy(&session->lock);
		pthread_mutex_trylock(&session->lock);
	} else if (!strcmp(how, "read")) {
		pthread_t thread;

		pthread_create(&thread, NULL, janitor, NULL);
		pthread_join(thread, NULL);
		look_up();
	} else if (!strcmp(how, "freed")) {
		begin(user);
		free(session);
	} else if (!strcmp(how, "deep") || !strcmp(how, "huge")) {
		char *block = block_with_session(*how == 'd' ? 5 * PAGE : MIB, 3 * PAGE);

		begin(user);
		free(block);
	} else if (!strcmp(how, "moved")) {
		char *block = block_with_session(5 * PAGE, 3 * PAGE);

		begin(user);
		grow(block);
	} else if (!strcmp(how, "unmapped")) {
		begin(user);
		munmap(session, PAGE);
	} else {
		clean();
	}
	end();
}
