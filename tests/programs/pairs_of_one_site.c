/* Two pairs of mutexes, all initialised at one place, which two threads nest.
 *
 *   pairs_of_one_site opposite   the second pair descends in address where the first ascends
 *   pairs_of_one_site ascending  both ascend: clean
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct account {
	pthread_mutex_t mutex;
	long balance;
};

static struct account *accounts[4];

static void transfer(struct account *from, struct account *to)
{
	pthread_mutex_lock(&from->mutex);
	pthread_mutex_lock(&to->mutex);
	from->balance--;
	to->balance++;
	pthread_mutex_unlock(&to->mutex);
	pthread_mutex_unlock(&from->mutex);
}

static void *first_pair(void *arg)
{
	(void)arg;
	transfer(accounts[0], accounts[1]);
	return NULL;
}

static void *second_pair(void *arg)
{
	if (arg)
		transfer(accounts[3], accounts[2]);
	else
		transfer(accounts[2], accounts[3]);
	return NULL;
}

int main(int argc, char **argv)
{
	/* On the heap: of variables it is known which is which. */
	struct account *memory = calloc(4, sizeof(*memory));
	int opposite = argc < 2 || !strcmp(argv[1], "opposite");
	pthread_t threads[2];

	for (int i = 0; i < 4; i++) {
		accounts[i] = &memory[i];
		pthread_mutex_init(&accounts[i]->mutex, NULL);
	}
	pthread_create(&threads[0], NULL, first_pair, NULL);
	pthread_create(&threads[1], NULL, second_pair, opposite ? memory : NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < 4; i++)
		pthread_mutex_destroy(&accounts[i]->mutex);
	free(memory);
	puts("the end");
	return 0;
}
