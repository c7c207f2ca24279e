/* A program with a function of its own of that name, which other objects call, too. */
#include <stdio.h>

static int calls;

__attribute__((visibility("default"))) void g_mutex_lock(void *unused)
{
	(void)unused;
	calls++;
}

int main(void)
{
	g_mutex_lock(NULL);
	printf("%d of its own\n", calls);
	return calls != 1;
}
