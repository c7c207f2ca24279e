/*
 * A small bank. Tellers transfer money all day; each transfer is entered in the journal. At closing
 * time an auditor sees whether the journal and the accounts agree.
 *
 *   teller:   accounts, then journal
 *   auditor:  journal, then accounts
 *
 * This has worked every day so far: at closing time the tellers have always been done.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { ACCOUNTS = 8, TELLERS = 3, TRANSFERS = 200, OPENING_BALANCE = 100000 };

static pthread_mutex_t accounts_lock = PTHREAD_MUTEX_INITIALIZER;
static long balance[ACCOUNTS];

static pthread_mutex_t journal_lock = PTHREAD_MUTEX_INITIALIZER;
static long entries;
static long turnover;

static void journal_append(long amount)
{
	pthread_mutex_lock(&journal_lock);
	entries++;
	turnover += amount;
	pthread_mutex_unlock(&journal_lock);
}

static void transfer(int from, int to, long amount)
{
	pthread_mutex_lock(&accounts_lock);
	if (balance[from] >= amount) {
		balance[from] -= amount;
		balance[to] += amount;
		journal_append(amount);
	}
	pthread_mutex_unlock(&accounts_lock);
}

static long total_of_accounts(void)
{
	long total = 0;

	pthread_mutex_lock(&accounts_lock);
	for (int i = 0; i < ACCOUNTS; i++)
		total += balance[i];
	pthread_mutex_unlock(&accounts_lock);
	return total;
}

static void audit(void)
{
	pthread_mutex_lock(&journal_lock);
	long total = total_of_accounts();
	printf("audit: %ld transfers, turnover %ld, accounts hold %ld: %s\n", entries, turnover,
	       total, total == (long)ACCOUNTS * OPENING_BALANCE ? "correct" : "WRONG");
	pthread_mutex_unlock(&journal_lock);
}

static void *teller(void *arg)
{
	unsigned seed = (unsigned)(long)arg;
	char name[32];

	snprintf(name, sizeof name, "teller-%u", seed + 1);
	pthread_setname_np(pthread_self(), name);
	for (int i = 0; i < TRANSFERS; i++)
		transfer(rand_r(&seed) % ACCOUNTS, rand_r(&seed) % ACCOUNTS, rand_r(&seed) % 100);
	return NULL;
}

static void *auditor(void *arg)
{
	(void)arg;
	pthread_setname_np(pthread_self(), "auditor");
	usleep(250 * 1000); /* until closing time */
	audit();
	return NULL;
}

int main(void)
{
	pthread_t staff[TELLERS + 1];

	for (int i = 0; i < ACCOUNTS; i++)
		balance[i] = OPENING_BALANCE;
	for (int i = 0; i <= TELLERS; i++) {
		if (pthread_create(&staff[i], NULL, i < TELLERS ? teller : auditor, (void *)(long)i)) {
			fputs("cannot hire staff\n", stderr);
			return 1;
		}
	}
	for (int i = 0; i <= TELLERS; i++)
		pthread_join(staff[i], NULL);
	return 0;
}
