/* Source text that the golden reports quote. It is never compiled. */
#include "bank.h"

void open_vault(void *arg)
{
	pthread_mutex_lock(&vault);
	look_inside(arg);
	pthread_mutex_unlock(&vault);
}
