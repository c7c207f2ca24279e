/* Loaded before the C library, this stands for one that lays out condition variables and barriers in
 * another way: what attributes set lies elsewhere. Without attributes all is as ever. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

int pthread_cond_init(pthread_cond_t *cond, const pthread_condattr_t *attr)
{
	int (*next)(pthread_cond_t *, const pthread_condattr_t *) =
		(int (*)(pthread_cond_t *, const pthread_condattr_t *))dlvsym(RTLD_NEXT, "pthread_cond_init", "GLIBC_2.3.2");
	int error = next(cond, attr);
	unsigned words[sizeof *cond / sizeof(unsigned)], flags = 0;

	memcpy(words, cond, sizeof words);
	for (unsigned i = 0; i < sizeof words / sizeof *words; i++) {
		flags |= words[i];
		words[i] = 0;
	}
	words[2] = flags;
	memcpy(cond, words, sizeof words);
	return error;
}

int pthread_barrier_init(pthread_barrier_t *barrier, const pthread_barrierattr_t *attr, unsigned count)
{
	int (*next)(pthread_barrier_t *, const pthread_barrierattr_t *, unsigned) =
		(int (*)(pthread_barrier_t *, const pthread_barrierattr_t *, unsigned))dlsym(RTLD_NEXT, "pthread_barrier_init");
	int error = next(barrier, attr, count);

	if (attr)
		memmove((char *)barrier + 4, barrier, 16);
	return error;
}
