/* Goes on when its parent has ended: makes the file READY, waits for GO, uses many locks, and makes DONE.
 *
 *   outlives READY GO DONE
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

enum { LOCKS = 20000 };

static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER;

static void make(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT, 0644);

	if (fd < 0)
		exit(2);
	close(fd);
}

int main(int argc, char **argv)
{
	pthread_mutex_t *locks;

	if (argc != 4)
		return 2;
	pthread_mutex_lock(&first);
	make(argv[1]);
	while (access(argv[2], F_OK))
		usleep(10000);
	locks = malloc(LOCKS * sizeof(*locks));
	for (int i = 0; i < LOCKS; i++) {
		pthread_mutex_init(&locks[i], NULL);
		pthread_mutex_lock(&locks[i]);
		pthread_mutex_unlock(&locks[i]);
	}
	pthread_mutex_unlock(&first);
	make(argv[3]);
	return 0;
}
