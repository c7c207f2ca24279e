/* A barrier is destroyed that nobody has initialised. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void)
{
	pthread_barrier_t *barrier = malloc(sizeof(*barrier));

	memset(barrier, 1, sizeof(*barrier)); /* as if all had left it: the call returns */
	printf("%d\n", pthread_barrier_destroy(barrier));
	free(barrier);
	return 0;
}
