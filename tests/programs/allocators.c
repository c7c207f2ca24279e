/* Threads, forks and locks in heap blocks, where malloc is another than the C library's.
 *
 *   allocators short          many short threads at once, whose stacks are more than glibc keeps
 *   allocators churn          threads come and go, with blocks that others free, some in their destructors
 *   allocators fork           children are forked while threads allocate, and have threads of their own
 *   allocators blocks         locks in blocks of all sizes, which are moved and freed
 *   allocators held [SIZE]    a block is freed with a held lock in it
 *   allocators again N        N locks that are never destroyed, each where the one before was
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { AT_ONCE = 16 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t key;
static pthread_barrier_t all;

/* What lies in a block, at its end. */
struct block {
	pthread_mutex_t lock;
	long uses;
};

static struct block *block_of(size_t size)
{
	char *at = malloc(size);
	struct block *block = (struct block *)(at + size - sizeof *block);
	pthread_mutex_init(&block->lock, NULL);
	block->uses = 0;
	return block;
}

static void use(struct block *block)
{
	pthread_mutex_lock(&block->lock);
	block->uses++;
	pthread_mutex_unlock(&block->lock);
}

static void *start_of(struct block *block, size_t size)
{
	return (char *)(block + 1) - size;
}

static void *meet(void *unused)
{
	pthread_barrier_wait(&all);
	return unused;
}

static void short_threads(void)
{
	pthread_t threads[AT_ONCE];
	pthread_barrier_init(&all, NULL, AT_ONCE);
	for (int round = 0; round < 4; round++) {
		for (int i = 0; i < AT_ONCE; i++)
			pthread_create(&threads[i], NULL, meet, NULL);
		for (int i = 0; i < AT_ONCE; i++)
			pthread_join(threads[i], NULL);
	}
	pthread_barrier_destroy(&all);
}

static struct block *_Atomic handed;

/* Allocates, too, and has its own destructor called again. */
static void destroyed(void *value)
{
	struct block *block = value;
	use(block);
	if (block->uses < 4) {
		free(malloc(100));
		pthread_setspecific(key, block);
		return;
	}
	pthread_mutex_destroy(&block->lock);
	free(block);
}

static void *come_and_go(void *unused)
{
	pthread_setspecific(key, block_of(sizeof(struct block)));
	for (size_t size = 104; size < 100000; size *= 3) {
		struct block *block = block_of(size);
		use(block);
		pthread_mutex_lock(&mutex);
		pthread_mutex_unlock(&mutex);
		pthread_mutex_destroy(&block->lock);
		free(start_of(block, size));
	}
	/* The next thread frees it. */
	struct block *before = atomic_exchange(&handed, block_of(sizeof(struct block)));
	if (before) {
		use(before);
		pthread_mutex_destroy(&before->lock);
		free(before);
	}
	return unused;
}

static void churn(int rounds)
{
	pthread_t threads[AT_ONCE];
	for (int round = 0; round < rounds; round++) {
		for (int i = 0; i < AT_ONCE; i++)
			pthread_create(&threads[i], NULL, come_and_go, NULL);
		for (int i = 0; i < AT_ONCE; i++)
			pthread_join(threads[i], NULL);
	}
}

static atomic_int is_over;

static void *allocate(void *unused)
{
	while (!atomic_load(&is_over))
		come_and_go(NULL);
	return unused;
}

static void forks(void)
{
	pthread_t threads[4];
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, allocate, NULL);
	int well = 0;
	for (int i = 0; i < 8; i++) {
		/* So it is the child's, too. */
		pthread_mutex_lock(&mutex);
		pid_t child = fork();
		pthread_mutex_unlock(&mutex);
		if (child == 0) {
			atomic_store(&handed, NULL);
			struct block *block = block_of(200);
			use(block);
			free(start_of(block, 200));
			churn(1);
			exit(7);
		}
		int status;
		well += waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7;
	}
	atomic_store(&is_over, 1);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	printf("%d children\n", well);
}

static void blocks(void)
{
	for (size_t size = sizeof(struct block); size < 1 << 20; size += size / 2 & ~7ul) {
		char *at = malloc(size);
		struct block *block = (struct block *)at;
		pthread_mutex_init(&block->lock, NULL);
		use(block);
		pthread_mutex_destroy(&block->lock);
		at = realloc(at, size * 2);
		block = (struct block *)(at + size * 2 - sizeof *block);
		pthread_mutex_init(&block->lock, NULL);
		use(block);
		pthread_mutex_destroy(&block->lock);
		free(at);
		void *aligned = NULL;
		if (posix_memalign(&aligned, 4096, size) == 0)
			free(aligned);
		free(calloc(size, 2));
		free(aligned_alloc(64, (size + 63) & ~63ul));
	}
	free(NULL);
	free(realloc(NULL, 10));
}

static void held(size_t size)
{
	struct block *block = block_of(size);
	pthread_mutex_lock(&block->lock);
	free(start_of(block, size));
}

/* Nothing but that the block is freed says that there are so many locks. */
static void again(int locks)
{
	for (int i = 0; i < locks; i++) {
		pthread_spinlock_t *lock = malloc(200);
		lock[20] = 1;
		pthread_spin_lock(&lock[20]);
		pthread_spin_unlock(&lock[20]);
		free((void *)lock);
	}
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	pthread_key_create(&key, destroyed);
	if (!strcmp(what, "short"))
		short_threads();
	else if (!strcmp(what, "churn"))
		churn(20);
	else if (!strcmp(what, "fork"))
		forks();
	else if (!strcmp(what, "blocks"))
		blocks();
	else if (!strcmp(what, "held"))
		held(argc > 2 ? (size_t)atol(argv[2]) : sizeof(struct block));
	else if (!strcmp(what, "again"))
		again(argc > 2 ? atoi(argv[2]) : 2);
	puts("the end");
	return 0;
}
