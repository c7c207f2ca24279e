/* Two locks that are named as those of OCaml 5's runtime, in both orders: a domain's lock, and the mutex of its master lock. With
 * -DOWN, the second has another name.
 */
#include <pthread.h>
#include <stdlib.h>

#ifdef OWN
#define st_masterlock_init own_init
#endif

static pthread_mutex_t *domain, *master;

__attribute__((noipa)) void caml_init_domains(void)
{
	domain = malloc(sizeof *domain);
	pthread_mutex_init(domain, NULL);
}

__attribute__((noipa)) void st_masterlock_init(void)
{
	master = malloc(sizeof *master);
	pthread_mutex_init(master, NULL);
}

static int turn;

static void *yields(void *nothing)
{
	pthread_mutex_lock(master);
	pthread_mutex_lock(domain);
	pthread_mutex_unlock(master);
	pthread_mutex_unlock(domain);
	__atomic_store_n(&turn, 1, __ATOMIC_RELEASE);
	return nothing;
}

static void *owns(void *nothing)
{
	while (!__atomic_load_n(&turn, __ATOMIC_ACQUIRE))
		;
	pthread_mutex_lock(domain);
	pthread_mutex_lock(master);
	pthread_mutex_unlock(master);
	pthread_mutex_unlock(domain);
	return nothing;
}

int main(void)
{
	pthread_t threads[2];

	caml_init_domains();
	st_masterlock_init();
	pthread_create(&threads[0], NULL, yields, NULL);
	pthread_create(&threads[1], NULL, owns, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
