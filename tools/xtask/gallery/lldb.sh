# The debugger stops a program of three threads at a function, shows their stacks, and lets it end.
# packages: lldb gcc
cat > program.c <<C
#include <pthread.h>
int step(int n) { return n + 1; }
void *work(void *n) { for (int i = 0; i < 3; i++) *(int *)n = step(*(int *)n); return 0; }
int main(void)
{
	pthread_t threads[3];
	int n[3] = {0};
	for (int i = 0; i < 3; i++) pthread_create(&threads[i], 0, work, &n[i]);
	for (int i = 0; i < 3; i++) pthread_join(threads[i], 0);
}
C
gcc -g -O0 -pthread -o program program.c
# The program itself is not watched: a debugger's child takes its time.
watch check --follow none -- lldb --no-lldbinit --batch -o 'breakpoint set --name step' -o run -o 'thread backtrace all' \
	-o 'expression n + 1' -o 'breakpoint delete --force' -o continue program
