/* Two orders. A function that is called like a lock's, `unixLock`, takes a mutex and then another one, and gives both back: it
 * is where the locks are taken, and no wrapper. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>

static pthread_mutex_t big = PTHREAD_MUTEX_INITIALIZER, inode = PTHREAD_MUTEX_INITIALIZER;
static volatile int files;
static atomic_int turn;

__attribute__((noinline)) static int unixLock(int is_exclusive)
{
	pthread_mutex_lock(&inode);
	if (is_exclusive) {
		pthread_mutex_lock(&big);
		files++;
		pthread_mutex_unlock(&big);
	}
	pthread_mutex_unlock(&inode);
	return files;
}

__attribute__((noinline)) static void closes(void)
{
	pthread_mutex_lock(&big);
	pthread_mutex_lock(&inode);
	files--;
	pthread_mutex_unlock(&inode);
	pthread_mutex_unlock(&big);
}

static void *opener(void *unused)
{
	files += unixLock(0);
	files += unixLock(1);
	turn = 1;
	return unused;
}

static void *closer(void *unused)
{
	while (!turn)
		sched_yield();
	closes();
	return unused;
}

int main(void)
{
	pthread_t one, other;

	pthread_create(&one, NULL, opener, NULL);
	pthread_create(&other, NULL, closer, NULL);
	pthread_join(one, NULL);
	pthread_join(other, NULL);
	puts("the end");
	return 0;
}
