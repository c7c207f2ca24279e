// Threads that share a connection of SQLite wait for its mutex; and the remedies that lockwright's advice names.
// sync: a commit waits for the disk with the mutex held, or the thread does that afterwards. query: a query reads all rows with
// the mutex held, or a half of them and the rest by a connection of the thread's own.
// Usage: remedies_sqlite sync|query before|after [MILLISECONDS]
#include <fcntl.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 4, ROWS = 2000 };

static sqlite3 *shared, *own[THREADS];
static int is_after, is_sync, wal;
static struct timespec until;

static void ok(int result, sqlite3 *db)
{
	if (result != SQLITE_OK && result != SQLITE_DONE && result != SQLITE_ROW) {
		fprintf(stderr, "%s\n", sqlite3_errmsg(db));
		exit(1);
	}
}

static void run(sqlite3 *db, const char *sql)
{
	ok(sqlite3_exec(db, sql, NULL, NULL, NULL), db);
}

static sqlite3 *opened(const char *name, int flags)
{
	sqlite3 *db;
	ok(sqlite3_open_v2(name, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | flags, NULL), db);
	run(db, "CREATE TABLE t(a, b)");
	if (is_sync) {
		run(db, "PRAGMA journal_mode=WAL");
		run(db, "PRAGMA wal_autocheckpoint=0");
		run(db, is_after ? "PRAGMA synchronous=OFF" : "PRAGMA synchronous=FULL");
		run(db, "INSERT INTO t VALUES(1, 2)");
	} else {
		run(db, "INSERT INTO t WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 2000) "
			"SELECT x, x % 100 FROM c");
	}
	return db;
}

static sqlite3_stmt *prepared(sqlite3 *db)
{
	const char *sql = is_sync ? "INSERT INTO t VALUES(?, 'some text')" : "SELECT sum(a) FROM t WHERE b > ? AND rowid <= ?";
	sqlite3_stmt *statement;
	ok(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), db);
	return statement;
}

static void execute(sqlite3_stmt *statement, unsigned *seed, int rows)
{
	sqlite3 *db = sqlite3_db_handle(statement);
	ok(sqlite3_bind_int(statement, 1, rand_r(seed) % 100), db);
	if (!is_sync)
		ok(sqlite3_bind_int(statement, 2, rows), db);
	ok(sqlite3_step(statement), db);
	ok(sqlite3_reset(statement), db);
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
	sqlite3_stmt *first = prepared(shared), *second = NULL;
	if (own[(long)number])
		second = prepared(own[(long)number]);
	while (!is_over()) {
		execute(first, &seed, is_after ? ROWS / 2 : ROWS);
		if (second)
			execute(second, &seed, ROWS / 2);
		if (is_sync && is_after)
			fdatasync(wal);
		struct timespec pause = {0, rand_r(&seed) % 400 * 1000};
		nanosleep(&pause, NULL);
	}
	sqlite3_finalize(first);
	sqlite3_finalize(second);
	return NULL;
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	is_sync = !strcmp(argv[1], "sync");
	is_after = !strcmp(argv[2], "after");
	shared = opened(is_sync ? "remedies.db" : ":memory:", SQLITE_OPEN_FULLMUTEX);
	for (int i = 0; i < THREADS && is_after && !is_sync; i++)
		own[i] = opened(":memory:", SQLITE_OPEN_NOMUTEX);
	if (is_sync)
		wal = open("remedies.db-wal", O_RDWR);
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
