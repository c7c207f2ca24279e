/* Has malloc and free itself, as programs do that jemalloc or tcmalloc is linked into. */
#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Alignas(16) char arena[1 << 20];
static size_t used;

void *malloc(size_t size)
{
	size_t at;

	pthread_mutex_lock(&lock);
	at = used;
	used += (size + 15) & ~(size_t)15;
	pthread_mutex_unlock(&lock);
	return used <= sizeof arena ? arena + at : NULL;
}

void free(void *block)
{
	(void)block;
}

int main(void)
{
	return malloc(1) == NULL;
}
