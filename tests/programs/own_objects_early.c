/* A library whose constructor, which runs before the tool's, initialises objects: compiled with LIBRARY. And the program
 * that uses them. */
#include <lockwright.h>
#include <semaphore.h>
#include <stdio.h>

struct early {
	int object;
	sem_t semaphore;
	pthread_mutex_t mutex;
};

extern struct early early;
extern const struct lw_object_descr *const early_type;

#ifdef LIBRARY

struct early early;
static const struct lw_object_descr type = LW_OBJECT_DESCR("early");
const struct lw_object_descr *const early_type = &type;

__attribute__((constructor)) static void begin(void)
{
	lw_object_init(&early.object, &type);
	sem_init(&early.semaphore, 0, 1);
	pthread_mutex_init(&early.mutex, NULL);
}

#else

int main(void)
{
	int refused = lw_object_activate(&early.object, early_type);

	sem_wait(&early.semaphore);
	sem_post(&early.semaphore);
	sem_destroy(&early.semaphore);
	pthread_mutex_lock(&early.mutex);
	pthread_mutex_unlock(&early.mutex);
	pthread_mutex_destroy(&early.mutex);
	printf("%d\n", refused);
	return 0;
}

#endif
