/* A stray write hits what lockdep has recorded of a held lock: the program looks for the entry of its mutex in the
 * mapped ledger and changes what was noted of it. A library built with debug-lockdep finds that at the next
 * acquisition. Says how many entries it has damaged; with the argument "spare" it only looks for them. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static pthread_mutex_t outer = PTHREAD_MUTEX_INITIALIZER, inner = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t other = PTHREAD_RWLOCK_INITIALIZER;

/* As docs/ledger-format.md has it: address, chain key, call site, instance, class, ... of 64 bytes. */
struct held {
	uint64_t addr, key, site;
	uint32_t inst, class, node;
	uint16_t mode, flags;
	uint32_t rest[6];
};

_Static_assert(sizeof(struct held) == 64, "an entry is a cache line");

static int damage(int really)
{
	char line[1024];
	int found = 0;
	FILE *maps = fopen("/proc/self/maps", "r");

	while (maps && fgets(line, sizeof line, maps)) {
		uint64_t from, to;
		char write;
		if (!strstr(line, ".lwl") || sscanf(line, "%" SCNx64 "-%" SCNx64 " r%c", &from, &to, &write) != 3)
			continue;
		/* What begins with the mutex's address, and has a class and a call site, is its entry. */
		for (uint64_t at = from; write == 'w' && at + sizeof(struct held) <= to; at += 8) {
			volatile struct held *held = (volatile struct held *)(uintptr_t)at;
			if (held->addr != (uintptr_t)&outer || !held->key || !held->site || !held->class || held->class > 1000)
				continue;
			if (really)
				held->site += 64;
			found++;
		}
	}
	if (maps)
		fclose(maps);
	return found;
}

static void take_inner(void)
{
	pthread_mutex_lock(&inner);
	pthread_mutex_unlock(&inner);
}

static void on_signal(int signal)
{
	(void)signal;
}

int main(int argc, char **argv)
{
	sigset_t set;
	int found;

	signal(SIGUSR1, on_signal);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	for (int i = 0; i < 1000; i++) {
		pthread_rwlock_rdlock(&other);
		pthread_rwlock_unlock(&other);
	}
	/* A new chain makes lockdep recompute the outer lock's key from whatever is there: so not yet. */
	pthread_mutex_lock(&outer);
	for (int i = 0; i < 99; i++)
		take_inner();
	found = damage(argc < 2 || strcmp(argv[1], "spare"));
	take_inner();
	pthread_mutex_unlock(&outer);
	printf("%d\n", found);
	return 0;
}
