// Three threads wait for `journal` and two for `table`, until a file "end" is in the folder that the first argument names. Its locks, places and sums are what `--push` sends. With -DMOVED its code and data are elsewhere.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#ifdef MOVED
static char before[64];
int moved(int x)
{
	before[x & 63]++;
	return before[(x + 1) & 63];
}
#endif
static pthread_mutex_t journal = PTHREAD_MUTEX_INITIALIZER, table = PTHREAD_MUTEX_INITIALIZER;
static volatile int ends;

static void append(void)
{
	pthread_mutex_lock(&journal);
	usleep(500);
	pthread_mutex_unlock(&journal);
}

static void insert(void)
{
	pthread_mutex_lock(&table);
	usleep(200);
	pthread_mutex_unlock(&table);
}

static void *writer(void *unused)
{
	while (!ends)
		append();
	return unused;
}

static void *clerk(void *unused)
{
	while (!ends)
		insert();
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t threads[5];
	char end[4096];
	if (argc != 2)
		return 2;
	snprintf(end, sizeof end, "%s/end", argv[1]);
	printf("%d\n", (int)getpid());
	printf("secret %s\n", getenv("LOCKWRIGHT_PUSH_AUTHORIZATION") ? "inherited" : "kept");
	fflush(stdout);
	for (int i = 0; i < 5; i++)
		pthread_create(&threads[i], NULL, i < 3 ? writer : clerk, NULL);
	while (access(end, F_OK) != 0)
		usleep(2000);
	ends = 1;
	for (int i = 0; i < 5; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
