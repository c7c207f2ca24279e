/* Every thread waits for another one, for ever, in no cycle of locks; or something is left that ends it: a handler, another
 * process, input. The argument says how. */
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t table = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ready = PTHREAD_COND_INITIALIZER;
static sem_t never, *posted = &never;
static int is_ready;

/* A wrapper: which of its callers waits is what matters. */
__attribute__((noinline)) static void wait_until_ready(void)
{
	while (!is_ready)
		pthread_cond_wait(&ready, &table);
}

__attribute__((noinline)) static void *reader(void *unused)
{
	pthread_mutex_lock(&table);
	wait_until_ready();
	pthread_mutex_unlock(&table);
	return unused;
}

static void *leaver(void *unused)
{
	pthread_mutex_lock(&table);
	return unused;
}

static void *poster(void *unused)
{
	pthread_mutex_lock(&table);
	sem_post(&never);
	pthread_mutex_unlock(&table);
	return unused;
}

static void *listener(void *unused)
{
	char byte;
	if (read(STDIN_FILENO, &byte, 1) <= 0)
		sem_post(&never);
	return unused;
}

static void handler(int number)
{
	(void)number;
	sem_post(posted);
}

static void run(void *(*function)(void *))
{
	pthread_t thread;
	pthread_create(&thread, NULL, function, NULL);
	pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	pthread_t thread;
	pid_t child;

	sem_init(&never, 0, 0);
	if (!strcmp(how, "condition")) {
		run(reader);
	} else if (!strcmp(how, "left")) {
		run(leaver);
		pthread_mutex_lock(&table);
	} else if (!strcmp(how, "semaphore")) {
		/* It would be posted by one that needs what main keeps. */
		pthread_mutex_lock(&table);
		pthread_create(&thread, NULL, poster, NULL);
		sem_wait(&never);
	} else if (!strcmp(how, "many")) {
		for (int i = 0; i < 30; i++)
			pthread_create(&thread, NULL, reader, NULL);
		pthread_join(thread, NULL);
	} else if (!strcmp(how, "handler")) {
		/* The handler posts. */
		signal(SIGTERM, handler);
		printf("%d\n", (int)getpid());
		fflush(stdout);
		sem_wait(&never);
		puts("the end");
	} else if (!strcmp(how, "input")) {
		pthread_create(&thread, NULL, listener, NULL);
		sem_wait(&never);
		pthread_join(thread, NULL);
		puts("the end");
	} else if (!strcmp(how, "shared")) {
		posted = mmap(NULL, sizeof *posted, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		sem_init(posted, 1, 0);
		if (!(child = fork())) {
			sleep(5);
			sem_post(posted);
			_exit(0);
		}
		sem_wait(posted);
		waitpid(child, NULL, 0);
		puts("the end");
	} else if (!strcmp(how, "ended")) {
		/* Its parent ends a child that waits for ever, as a test does. */
		int status;
		if (!(child = fork()))
			run(reader);
		sleep(5);
		kill(child, SIGTERM);
		waitpid(child, &status, 0);
		printf("ended by signal %d\n", WTERMSIG(status));
	}
	return 0;
}
