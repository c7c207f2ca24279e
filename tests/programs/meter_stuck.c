/* Prints its process id, and then hangs: two threads in each other's way, one in nobody's, and main that waits for
   the first two. */
#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t left = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t right = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t idle = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t both;

__attribute__((noinline)) static void left_then_right(void)
{
	pthread_mutex_lock(&left);
	pthread_barrier_wait(&both);
	pthread_mutex_lock(&right);
}

__attribute__((noinline)) static void right_then_left(void)
{
	pthread_mutex_lock(&right);
	pthread_barrier_wait(&both);
	pthread_mutex_lock(&left);
}

__attribute__((noinline)) static void wait_for_ever(void)
{
	pthread_mutex_lock(&idle);
	for (;;)
		pthread_cond_wait(&never, &idle);
}

static void *run(void *what)
{
	((void (*)(void))what)();
	return NULL;
}

/* Threads of the process that sleep. */
static int sleeping(void)
{
	DIR *tasks = opendir("/proc/self/task");
	int count = 0;

	for (struct dirent *task; (task = readdir(tasks)) != NULL;) {
		char path[300], stat[512] = "";
		snprintf(path, sizeof path, "/proc/self/task/%s/stat", task->d_name);
		FILE *file = fopen(path, "r");
		if (file == NULL)
			continue;
		if (fgets(stat, sizeof stat, file) != NULL && strstr(stat, ") S ") != NULL)
			count++;
		fclose(file);
	}
	closedir(tasks);
	return count;
}

int main(int argc, char **argv)
{
	pthread_t threads[3];

	printf("%d\n", (int)getpid());
	fflush(stdout);
	pthread_barrier_init(&both, NULL, 2);
	pthread_create(&threads[0], NULL, run, (void *)left_then_right);
	pthread_create(&threads[1], NULL, run, (void *)right_then_left);
	pthread_create(&threads[2], NULL, run, (void *)wait_for_ever);
	if (argc > 1 && !strcmp(argv[1], "exit")) {
		/* All but main, for so long that it is no other sleep. */
		for (int looks = 0; looks < 25; usleep(5000))
			looks = sleeping() == 3 ? looks + 1 : 0;
		return 0;
	}
	pthread_join(threads[0], NULL);
	return 0;
}
