// Threads that write to LMDB: a commit waits for the disk with the writers' mutex held (MDB_NOMETASYNC: once); or, with MDB_NOSYNC
// and mdb_env_sync, after it. The few declarations stand here, as the library alone is often installed without its header.
// Usage: remedies_lmdb sync before|after [MILLISECONDS]
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

typedef struct MDB_env MDB_env;
typedef struct MDB_txn MDB_txn;
typedef unsigned MDB_dbi;
typedef struct {
	size_t size;
	void *data;
} MDB_val;

int mdb_env_create(MDB_env **env);
int mdb_env_set_mapsize(MDB_env *env, size_t size);
int mdb_env_open(MDB_env *env, const char *path, unsigned flags, mode_t mode);
int mdb_env_sync(MDB_env *env, int force);
int mdb_txn_begin(MDB_env *env, MDB_txn *parent, unsigned flags, MDB_txn **txn);
int mdb_txn_commit(MDB_txn *txn);
int mdb_dbi_open(MDB_txn *txn, const char *name, unsigned flags, MDB_dbi *dbi);
int mdb_put(MDB_txn *txn, MDB_dbi dbi, MDB_val *key, MDB_val *value, unsigned flags);

enum { THREADS = 4, NOSYNC = 0x10000, NOMETASYNC = 0x40000 };

static MDB_env *env;
static MDB_dbi dbi;
static int is_after;
static struct timespec until;

static void ok(int result)
{
	if (result) {
		fprintf(stderr, "LMDB: error %d\n", result);
		exit(1);
	}
}

static int is_over(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec > until.tv_sec || (t.tv_sec == until.tv_sec && t.tv_nsec >= until.tv_nsec);
}

static void *thread(void *number)
{
	unsigned seed = (long)number;
	while (!is_over()) {
		MDB_txn *txn;
		int key = rand_r(&seed) % 1000;
		char text[100] = "text";
		MDB_val k = {sizeof key, &key}, v = {sizeof text, text};
		ok(mdb_txn_begin(env, NULL, 0, &txn));
		ok(mdb_put(txn, dbi, &k, &v, 0));
		ok(mdb_txn_commit(txn));
		if (is_after)
			ok(mdb_env_sync(env, 1));
		struct timespec pause = {0, rand_r(&seed) % 1000 * 1000};
		nanosleep(&pause, NULL);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	is_after = !strcmp(argv[2], "after");
	mkdir("remedies.lmdb", 0700);
	MDB_txn *txn;
	ok(mdb_env_create(&env));
	ok(mdb_env_set_mapsize(env, 1 << 24));
	ok(mdb_env_open(env, "remedies.lmdb", is_after ? NOSYNC : NOMETASYNC, 0600));
	ok(mdb_txn_begin(env, NULL, 0, &txn));
	ok(mdb_dbi_open(txn, NULL, 0, &dbi));
	ok(mdb_txn_commit(txn));
	long ms = argc > 3 ? atol(argv[3]) : 1000;
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += ms / 1000;
	pthread_t threads[THREADS];
	for (long i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, thread, (void *)i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
