/* A planted fault: locks that keep nobody apart, to be preloaded. */
#define NOTHING(function)                                                                                              \
	int function(void *lock);                                                                                      \
	int function(void *lock)                                                                                       \
	{                                                                                                              \
		(void)lock;                                                                                            \
		return 0;                                                                                              \
	}

NOTHING(pthread_mutex_lock)
NOTHING(pthread_mutex_unlock)
NOTHING(pthread_rwlock_wrlock)
NOTHING(pthread_rwlock_unlock)
NOTHING(pthread_spin_lock)
NOTHING(pthread_spin_unlock)
