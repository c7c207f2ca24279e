/* Four threads on two connections to one database in memory, as a program does that shares its connections;
 * prints the nanoseconds of wall time that one statement took.
 *
 *   sqlite MILLISECONDS        so long
 *   sqlite 0 STATEMENTS        until each thread has run so many
 */
#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 4, CONNECTIONS = 2, ROWS = 1000 };

static sqlite3 *connections[CONNECTIONS];
static unsigned most = -1;
static atomic_int stop;
static atomic_ulong statements;
static pthread_barrier_t begin;

static void must(int result, const char *what)
{
	if (result != SQLITE_OK) {
		fprintf(stderr, "%s: %s\n", what, sqlite3_errstr(result));
		exit(1);
	}
}

static void *query(void *arg)
{
	long id = (long)arg;
	sqlite3_stmt *select;
	unsigned row = id * 7919, done = 0;

	must(sqlite3_prepare_v2(connections[id % CONNECTIONS], "SELECT a, b FROM t WHERE id = ?", -1, &select, NULL),
	     "prepare");
	pthread_barrier_wait(&begin);
	while (done < most && !atomic_load_explicit(&stop, memory_order_relaxed)) {
		row = row * 1103515245 + 12345;
		sqlite3_bind_int(select, 1, (row >> 8) % ROWS);
		if (sqlite3_step(select) == SQLITE_ROW && sqlite3_column_int(select, 0) < 0)
			exit(1);
		sqlite3_reset(select);
		done++;
	}
	atomic_fetch_add(&statements, done);
	sqlite3_finalize(select);
	return NULL;
}

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	double start;

	if (argc < 2)
		return 2;
	if (argc > 2)
		most = strtoul(argv[2], NULL, 10);
	for (int i = 0; i < CONNECTIONS; i++)
		must(sqlite3_open_v2("file:bench?mode=memory&cache=shared", &connections[i],
				     SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_URI | SQLITE_OPEN_FULLMUTEX,
				     NULL),
		     "open");
	must(sqlite3_exec(connections[0],
			  "CREATE TABLE t (id INTEGER PRIMARY KEY, a INT, b TEXT);"
			  "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n LIMIT 1000)"
			  "INSERT INTO t SELECT i, i * 2, 'row ' || i FROM n",
			  NULL, NULL, NULL),
	     "fill");
	pthread_barrier_init(&begin, NULL, THREADS + 1);
	for (long i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, query, (void *)i);
	pthread_barrier_wait(&begin);
	start = now();
	if (most == -1u) {
		usleep(atol(argv[1]) * 1000);
		atomic_store(&stop, 1);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	printf("%.4f\n", (now() - start) / atomic_load(&statements));
	return 0;
}
