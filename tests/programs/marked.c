/* Two threads that take a mutex twenty times each: all that it locks is seen. What a library or a language is known by is
 * put into it where it is compiled:
 *
 *   -DEXPORTED=NAME   a function of that name, for others
 *   -DTEXT="..."      a constant
 *   -DPYTHON=VERSION  the loop of CPython, and the constant with its version if that is not 0
 */
#include <pthread.h>
#include <stdio.h>

#ifdef EXPORTED
void EXPORTED(void) {}
#endif
#ifdef PYTHON
void _PyEval_EvalFrameDefault(void) {}
#if PYTHON
const unsigned long Py_Version = PYTHON;
#endif
#endif
#ifdef TEXT
const char text[] = TEXT;
#endif

static pthread_mutex_t counted = PTHREAD_MUTEX_INITIALIZER;
static int count;

static void *counts(void *unused)
{
	for (int i = 0; i < 20; i++) {
		pthread_mutex_lock(&counted);
		count++;
		pthread_mutex_unlock(&counted);
	}
	return unused;
}

int main(void)
{
	pthread_t threads[2];
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, counts, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	printf("%d\n", count);
	return 0;
}
