/* Threads move money between the accounts of an SQLite database, on two connections that they share.
 *
 *   swap_sqlite FILE           says whether all is there in the end
 *   swap_sqlite FILE loses     one transfer is noted, and not made
 */
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 6, CONNECTIONS = 2, ROUNDS = 200, ACCOUNTS = 50, BALANCE = 1000 };

static sqlite3 *connections[CONNECTIONS];
static int loses;
static pthread_barrier_t begin;
/* What each thread has moved, to be added up in the end. */
static long moved[THREADS][ACCOUNTS];

static void fail(sqlite3 *db, const char *what)
{
	fprintf(stderr, "%s: %s\n", what, sqlite3_errmsg(db));
	exit(1);
}

static sqlite3_stmt *prepare(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *statement;
	if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK)
		fail(db, sql);
	return statement;
}

static void run(sqlite3 *db, const char *sql)
{
	if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
		fail(db, sql);
}

/* Runs a statement once. Nobody else may use the connection before it is reset: what others do on it meanwhile
 * is part of the transaction of a statement that was refused, and rolled back with it. */
static int once(sqlite3 *db, sqlite3_stmt *statement, long *value)
{
	sqlite3_mutex_enter(sqlite3_db_mutex(db));
	int result = sqlite3_step(statement);
	if (result == SQLITE_ROW)
		*value = sqlite3_column_int64(statement, 0);
	sqlite3_reset(statement);
	sqlite3_mutex_leave(sqlite3_db_mutex(db));
	return result;
}

/* To its end. The other connection may write at the time, or have written since. */
static long finish(sqlite3 *db, sqlite3_stmt *statement, int expected)
{
	long value = 0;
	int result;
	while ((result = once(db, statement, &value)) == SQLITE_BUSY || result == SQLITE_LOCKED)
		;
	if (result != expected)
		fail(db, sqlite3_sql(statement));
	return value;
}

static void change(sqlite3 *db, sqlite3_stmt *statement)
{
	finish(db, statement, SQLITE_DONE);
}

static long number(sqlite3 *db, sqlite3_stmt *statement)
{
	return finish(db, statement, SQLITE_ROW);
}

static void *teller(void *arg)
{
	long id = (long)arg;
	sqlite3 *db = connections[id % CONNECTIONS];
	sqlite3_stmt *transfer = prepare(db,
		"UPDATE account SET balance = balance + iif(id = ?1, -?3, ?3) WHERE id IN (?1, ?2)");
	sqlite3_stmt *note = prepare(db, "INSERT INTO journal (thread, round) VALUES (?1, ?2)");
	sqlite3_stmt *sum = prepare(db, "SELECT sum(balance) FROM account");

	pthread_barrier_wait(&begin);
	for (int round = 0; round < ROUNDS; round++) {
		int from = (id * 17 + round * 7) % ACCOUNTS, to = (from + 1 + round % (ACCOUNTS - 1)) % ACCOUNTS;
		int amount = 1 + (id + round) % 9;
		moved[id][from] -= amount;
		moved[id][to] += amount;
		sqlite3_bind_int(transfer, 1, from);
		sqlite3_bind_int(transfer, 2, to);
		sqlite3_bind_int(transfer, 3, amount);
		if (!(loses && id == 0 && round == 0))
			change(db, transfer);
		sqlite3_bind_int(note, 1, id);
		sqlite3_bind_int(note, 2, round);
		change(db, note);
		if (round % 8 == 0 && number(db, sum) != (long)ACCOUNTS * BALANCE) {
			printf("a transfer was seen half done\n");
			exit(1);
		}
	}
	sqlite3_finalize(transfer);
	sqlite3_finalize(note);
	sqlite3_finalize(sum);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	loses = argc > 2 && !strcmp(argv[2], "loses");

	for (int i = 0; i < CONNECTIONS; i++) {
		int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_FULLMUTEX;
		if (sqlite3_open_v2(argv[1], &connections[i], flags, NULL) != SQLITE_OK)
			fail(connections[i], argv[1]);
		sqlite3_busy_timeout(connections[i], 60000);
		run(connections[i], "PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF;");
	}
	sqlite3 *db = connections[0];
	run(db, "CREATE TABLE account (id INTEGER PRIMARY KEY, balance INTEGER);"
		"CREATE TABLE journal (thread INTEGER, round INTEGER, UNIQUE (thread, round));");
	sqlite3_stmt *insert = prepare(db, "INSERT INTO account VALUES (?1, ?2)");
	for (int i = 0; i < ACCOUNTS; i++) {
		sqlite3_bind_int(insert, 1, i);
		sqlite3_bind_int(insert, 2, BALANCE);
		change(db, insert);
	}
	sqlite3_finalize(insert);

	pthread_barrier_init(&begin, NULL, THREADS);
	for (long i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, teller, (void *)i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);

	int wrong = 0;
	sqlite3_stmt *balance = prepare(db, "SELECT balance FROM account WHERE id = ?1");
	for (int i = 0; i < ACCOUNTS; i++) {
		long expected = BALANCE;
		for (int t = 0; t < THREADS; t++)
			expected += moved[t][i];
		sqlite3_bind_int(balance, 1, i);
		wrong += number(db, balance) != expected;
	}
	sqlite3_finalize(balance);
	sqlite3_stmt *notes = prepare(db, "SELECT count(*) FROM journal");
	sqlite3_stmt *check = prepare(db, "PRAGMA integrity_check");
	printf("%d balances are wrong\n%ld of %d notes\n", wrong, number(db, notes), THREADS * ROUNDS);
	if (sqlite3_step(check) == SQLITE_ROW)
		printf("integrity: %s\n", sqlite3_column_text(check, 0));
	sqlite3_finalize(notes);
	sqlite3_finalize(check);
	for (int i = 0; i < CONNECTIONS; i++)
		if (sqlite3_close(connections[i]) != SQLITE_OK)
			fail(connections[i], "close");
	return 0;
}
