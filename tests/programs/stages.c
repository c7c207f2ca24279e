// Takes locks until files in the folder that its argument names say what next: "deadlock" has two threads deadlock, "end"
// ends it. `lockwright top` looks at it meanwhile. Prints its id, and at its end how often it took `journal`.
#include <pthread.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

static pthread_mutex_t journal = PTHREAD_MUTEX_INITIALIZER, table = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t left = PTHREAD_MUTEX_INITIALIZER, right = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both_hold;
static volatile int ends;
static long taken;

static int is_said(const char *folder, const char *what)
{
	char path[4096];
	snprintf(path, sizeof path, "%s/%s", folder, what);
	return access(path, F_OK) == 0;
}

static void append(void)
{
	pthread_mutex_lock(&journal);
	usleep(2000);
	taken++;
	pthread_mutex_unlock(&journal);
}

static void *writer(void *unused)
{
	prctl(PR_SET_NAME, "writer");
	while (!ends) {
		append();
		usleep(100);
	}
	return unused;
}

// Waits for `table` as long as the program lives.
static void *patient(void *unused)
{
	prctl(PR_SET_NAME, "patient");
	pthread_mutex_lock(&table);
	pthread_mutex_unlock(&table);
	return unused;
}

static void *goes_right(void *unused)
{
	prctl(PR_SET_NAME, "goes_right");
	pthread_mutex_lock(&left);
	pthread_barrier_wait(&both_hold);
	pthread_mutex_lock(&right);
	return unused;
}

static void *goes_left(void *unused)
{
	prctl(PR_SET_NAME, "goes_left");
	pthread_mutex_lock(&right);
	pthread_barrier_wait(&both_hold);
	pthread_mutex_lock(&left);
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t writers[3], others[3];
	int has_deadlock = 0;
	if (argc != 2)
		return 2;
	printf("%d\n", (int)getpid());
	fflush(stdout);
	pthread_barrier_init(&both_hold, NULL, 2);
	pthread_mutex_lock(&table);
	pthread_create(&others[0], NULL, patient, NULL);
	for (int i = 0; i < 3; i++)
		pthread_create(&writers[i], NULL, writer, NULL);
	while (!is_said(argv[1], "end")) {
		if (!has_deadlock && is_said(argv[1], "deadlock")) {
			has_deadlock = 1;
			pthread_create(&others[1], NULL, goes_right, NULL);
			pthread_create(&others[2], NULL, goes_left, NULL);
		}
		usleep(5000);
	}
	ends = 1;
	for (int i = 0; i < 3; i++)
		pthread_join(writers[i], NULL);
	printf("journal %ld\n", taken);
	fflush(stdout);
	_exit(0);
}
