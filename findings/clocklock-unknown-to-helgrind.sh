#!/usr/bin/env bash
# Helgrind does not know pthread_mutex_clocklock, so it reports errors in a correct program.
#
# Seen:     Valgrind 3.19.0 (Debian 12, package 1:3.19.0-1) with glibc 2.36, x86-64.
# Expected: no error. Two threads add to a counter, each time with the same mutex held.
# Observed: Helgrind reports a data race on the counter and "unlocked an invalid lock" for the mutex, as it intercepts
#           pthread_mutex_timedlock but not pthread_mutex_clocklock (glibc 2.30 added it). DRD, of the same package,
#           reports nothing. C++17 programs meet this: std::timed_mutex::try_lock_for calls pthread_mutex_clocklock.
# Relevance: a comparison of deadlock detectors must not count these reports as findings of Helgrind.
#
# Needs cc and apt-get (Debian 12). Fails if the behaviour differs from the one above.
set -euo pipefail
version=1:3.19.0-1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"

apt-get download -qq "valgrind=$version" >/dev/null
dpkg-deb -x valgrind_*.deb root

cat >counter.c <<'C'
#define _GNU_SOURCE
#include <pthread.h>
#include <time.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int counter;

static void *add(void *unused)
{
	(void)unused;
	for (int i = 0; i < 100; i++) {
		struct timespec limit;
		clock_gettime(CLOCK_MONOTONIC, &limit);
		limit.tv_sec += 1000;
		if (pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &limit) == 0) {
			counter++;
			pthread_mutex_unlock(&mutex);
		}
	}
	return 0;
}

int main(void)
{
	pthread_t one, two;
	pthread_create(&one, 0, add, 0);
	pthread_create(&two, 0, add, 0);
	pthread_join(one, 0);
	pthread_join(two, 0);
	return counter == 200 ? 0 : 1;
}
C
cc -g -O1 -pthread counter.c -o counter
./counter

export VALGRIND_LIB=$scratch/root/usr/libexec/valgrind
valgrind=$scratch/root/usr/bin/valgrind.bin
[[ -x $valgrind ]] || valgrind=$scratch/root/usr/bin/valgrind
"$valgrind" --tool=helgrind ./counter >helgrind.txt 2>&1
"$valgrind" --tool=drd ./counter >drd.txt 2>&1

"$valgrind" --version
grep -h 'ERROR SUMMARY' helgrind.txt drd.txt
grep -q 'Possible data race' helgrind.txt || { echo "changed: Helgrind reports no race" >&2; exit 1; }
grep -q 'unlocked an invalid lock' helgrind.txt || { echo "changed: Helgrind accepts the unlock" >&2; exit 1; }
grep -q 'ERROR SUMMARY: 0 errors' drd.txt || { echo "changed: DRD reports errors" >&2; exit 1; }
echo "as recorded: Helgrind reports errors in a correct program, DRD does not"
