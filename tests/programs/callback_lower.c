// A library that is linked against another one, and calls it with a lock held; the other has a
// pointer to a function of the first, and calls it at other times. With -DLOWER the one, with
// -DUPPER the other, else the program.
#include <pthread.h>

extern void (*made)(void);
void lower_make(void);
void upper_register(void);
void upper_get(void);

#ifdef LOWER
static pthread_mutex_t types = PTHREAD_MUTEX_INITIALIZER;
void (*made)(void);

void lower_make(void)
{
	pthread_mutex_lock(&types);
	pthread_mutex_unlock(&types);
	if (made)
		made();
}
#elif defined UPPER
static pthread_rwlock_t schemes = PTHREAD_RWLOCK_INITIALIZER;

void upper_register(void)
{
	pthread_rwlock_wrlock(&schemes);
	pthread_rwlock_unlock(&schemes);
}

void upper_get(void)
{
	pthread_rwlock_rdlock(&schemes);
	lower_make();
	pthread_rwlock_unlock(&schemes);
}
#else
int main(void)
{
	made = upper_register;
	lower_make();
	made = 0;
	upper_get();
	return 0;
}
#endif
