/* Synchronisation objects in a structure on the heap that are used after their end. */
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>

struct job {
	pthread_mutex_t lock;
	pthread_cond_t ready;
	sem_t slots;
	pthread_barrier_t meet;
};

struct other {
	pthread_mutex_t lock;
};

static struct job *make(void)
{
	struct job *job = calloc(1, sizeof *job);

	pthread_mutex_init(&job->lock, NULL);
	pthread_cond_init(&job->ready, NULL);
	sem_init(&job->slots, 0, 1);
	pthread_barrier_init(&job->meet, NULL, 1);
	return job;
}

#define HIDDEN(object) pthread_mutex_init((object), NULL)

static void hidden(struct job *job, struct other *other)
{
	pthread_mutex_init(&job->lock, NULL), HIDDEN(&other->lock);
}

static void use_lock(pthread_mutex_t *lock)
{
	pthread_mutex_lock(lock);
	pthread_mutex_unlock(lock);
}

static void again(struct job *job)
{
	pthread_mutex_destroy(&job->lock);
	use_lock(&job->lock);
	pthread_mutex_init(&job->lock, NULL);
	pthread_mutex_destroy(&job->lock);
	pthread_mutex_lock(&job->lock);
	pthread_mutex_unlock(&job->lock);
}

int main(void)
{
	struct job *job = make();
	struct other *other = calloc(1, sizeof *other);

	use_lock(&job->lock);
	again(job);
	pthread_cond_destroy(&job->ready);
	pthread_cond_signal(&job->ready);
	sem_destroy(&job->slots);
	sem_post(&job->slots);
	pthread_barrier_destroy(&job->meet);
	pthread_barrier_wait(&job->meet);
	hidden(job, other);
	pthread_mutex_destroy(&other->lock);
	use_lock(&other->lock);
	return 0;
}
