/* Processes: forked, vforked, spawned, cloned, executed; locks that they inherit, share, and leave behind. */
#include "case.h"

#include <spawn.h>

static pthread_mutex_t mutex = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;

static void await(pid_t child)
{
	int status = 0;
	errno = SENTINEL;
	say("found: %d", waitpid(child, &status, 0) == child);
	say("the child %s", ending(status));
}

/* ---- fork ---- */

static void *use_locks(void *unused)
{
	RET(pthread_mutex_lock(&mutex));
	RET(pthread_rwlock_wrlock(&rwlock));
	RET(pthread_rwlock_unlock(&rwlock));
	RET(pthread_mutex_unlock(&mutex));
	return unused;
}

static void *use_locks_in_threads(void *unused)
{
	use_locks(NULL);
	in_thread(use_locks, NULL);
	return unused;
}

CASE(child_uses_locks)
{
	use_locks(NULL);
	in_child(use_locks, NULL);
	use_locks(NULL);
}

CASE(child_makes_threads)
{
	in_child(use_locks_in_threads, NULL);
	in_child(use_locks_in_threads, NULL);
}

static void *fork_once_more(void *unused)
{
	use_locks(NULL);
	in_child(use_locks_in_threads, NULL);
	use_locks(NULL);
	return unused;
}

CASE(grandchild)
{
	in_child(fork_once_more, NULL);
}

static void *unlock_inherited(void *unused)
{
	RET(pthread_mutex_trylock(&mutex));
	RET(pthread_mutex_unlock(&mutex));
	RET(pthread_mutex_unlock(&recursive));
	RET(pthread_mutex_trylock(&recursive));
	RET(pthread_rwlock_unlock(&rwlock));
	RET(pthread_rwlock_trywrlock(&rwlock));
	return unused;
}

/* What the forking thread held, by the child's word for itself: errorcheck and recursive ones are no more its own. */
CASE(child_inherits_locks)
{
	RET(pthread_mutex_lock(&mutex));
	RET(pthread_mutex_lock(&recursive));
	RET(pthread_mutex_lock(&recursive));
	RET(pthread_rwlock_rdlock(&rwlock));
	in_child(unlock_inherited, NULL);
	RET(pthread_mutex_unlock(&mutex));
	RET(pthread_mutex_unlock(&recursive));
	RET(pthread_mutex_unlock(&recursive));
	RET(pthread_rwlock_unlock(&rwlock));
}

static struct gate held, let_go;

static void *hold_all(void *unused)
{
	RET(pthread_mutex_lock(&mutex));
	RET(pthread_rwlock_wrlock(&rwlock));
	open_gate(&held);
	pass(&let_go);
	RET(pthread_rwlock_unlock(&rwlock));
	RET(pthread_mutex_unlock(&mutex));
	return unused;
}

static void *try_all(void *unused)
{
	RET(pthread_mutex_trylock(&mutex));
	RET(pthread_mutex_timedlock(&mutex, PAST));
	RET(pthread_rwlock_tryrdlock(&rwlock));
	RET(pthread_rwlock_timedwrlock(&rwlock, PAST));
	RET(pthread_mutex_unlock(&mutex));
	/* As careful programs do. */
	RET(pthread_mutex_init(&mutex, NULL));
	RET(pthread_mutex_lock(&mutex));
	RET(pthread_mutex_unlock(&mutex));
	return unused;
}

CASE(locks_left_behind)
{
	struct worker worker;
	start(&worker, hold_all, NULL);
	pass(&held);
	in_child(try_all, NULL);
	open_gate(&let_go);
	finish(&worker);
}

static void *fork_it(void *unused)
{
	in_child(use_locks_in_threads, NULL);
	return unused;
}

CASE(forked_by_a_thread)
{
	/* What a thread says is its process's own: the child writes straight out. */
	pthread_t thread;
	MUST(pthread_create(&thread, NULL, fork_it, NULL));
	MUST(pthread_join(thread, NULL));
}

static atomic_int has_forked;

static void *allocate(void *unused)
{
	while (!has_forked) {
		void *block = malloc(1000);
		free(realloc(block, 3000));
	}
	return unused;
}

static void *allocate_in_child(void *unused)
{
	void *block = malloc(100000);
	say("allocated: %d", block != NULL);
	free(block);
	use_locks(NULL);
	return unused;
}

CASE(forked_while_another_allocates)
{
	struct worker worker;
	start(&worker, allocate, NULL);
	for (int i = 0; i < 20; i++)
		in_child(allocate_in_child, NULL);
	has_forked = 1;
	finish(&worker);
}

/* ---- Memory of inherited locks ---- */

static void *unmap_and_lock(void *memory)
{
	RET(munmap(memory, 4096));
	use_locks(NULL);
	return NULL;
}

static void *just_lock(void *unused)
{
	use_locks(NULL);
	return unused;
}

static pthread_mutex_t *locked_mutex_in(void *memory)
{
	pthread_mutex_t *inherited = memory;
	MUST(pthread_mutex_init(inherited, NULL));
	RET(pthread_mutex_lock(inherited));
	return inherited;
}

static void *map_page(int flags)
{
	return mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_ANONYMOUS | flags, -1, 0);
}

CASE(inherited_lock_is_unmapped)
{
	RET(pthread_mutex_unlock(locked_mutex_in(map_page(MAP_PRIVATE))));
	in_child(unmap_and_lock, locked_mutex_in(map_page(MAP_PRIVATE)));
	in_child(unmap_and_lock, locked_mutex_in(map_page(MAP_SHARED)));
}

CASE(inherited_lock_is_not_mapped_in_the_child)
{
	void *left_out = map_page(MAP_PRIVATE), *wiped = map_page(MAP_PRIVATE);
	MUST(madvise(left_out, 4096, MADV_DONTFORK));
	MUST(madvise(wiped, 4096, MADV_WIPEONFORK));
	locked_mutex_in(left_out);
	locked_mutex_in(wiped);
	in_child(just_lock, NULL);
}

/* Data of the program's own that look like any kind of mutex, or rwlock. */
static void *reuse(void *memory)
{
	unsigned *data = memory;
	for (unsigned kind = 0; kind < 4; kind++) {
		unsigned before[32];
		memset(data, kind == 3 ? 0xff : 0x41, sizeof before);
		data[4] = kind;
		data[7] = data[12] = 0;
		memcpy(before, data, sizeof before);
		if (kind == 0)
			use_locks(NULL);
		in_thread(use_locks, NULL);
		say("intact: %d", memcmp(before, data, sizeof before) == 0);
	}
	return NULL;
}

static void *free_and_reuse(void *memory)
{
	free(memory);
	void *again = malloc(200);
	reuse(again);
	free(again);
	return NULL;
}

CASE(memory_of_an_inherited_lock_is_reused)
{
	in_child(reuse, locked_mutex_in(malloc(200)));
	in_child(free_and_reuse, locked_mutex_in(malloc(200)));
	pthread_rwlock_t *inherited = malloc(200);
	MUST(pthread_rwlock_init(inherited, NULL));
	RET(pthread_rwlock_wrlock(inherited));
	in_child(reuse, inherited);
	in_child(free_and_reuse, inherited);
}

__attribute__((noinline)) static pid_t fork_with_a_lock_in_the_frame(void)
{
	pthread_mutex_t here = PTHREAD_MUTEX_INITIALIZER;
	RET(pthread_mutex_lock(&here));
	return fork();
}

__attribute__((noinline)) static void lock_in_another_frame(void)
{
	volatile unsigned long words[64];
	int changed = 0;
	for (int i = 0; i < 64; i++)
		words[i] = 0;
	use_locks(NULL);
	for (int i = 0; i < 64; i++)
		changed += words[i] != 0;
	say("changed: %d", changed);
}

CASE(frame_of_an_inherited_lock_is_reused)
{
	pid_t child = fork_with_a_lock_in_the_frame();
	if (child == 0) {
		lock_in_another_frame();
		_exit(0);
	}
	await(child);
}

/* A new lock where an inherited one was. */
static void *renew(void *memory)
{
	pthread_mutex_t *renewed = memory;
	memset(renewed, 0, sizeof *renewed);
	RET(pthread_mutex_lock(renewed));
	RET(pthread_mutex_trylock(renewed));
	RET(pthread_mutex_unlock(renewed));
	RET(pthread_mutex_unlock(&mutex));
	return NULL;
}

CASE(lock_where_an_inherited_one_was)
{
	in_child(renew, locked_mutex_in(malloc(200)));
	in_child(renew, locked_mutex_in(map_page(MAP_SHARED)));
}

static struct sharable {
	pthread_mutex_t normal, checking, robust;
	pthread_rwlock_t read, written;
	pthread_spinlock_t spinlock;
} *sharable;

static void make_sharable(int flags)
{
	pthread_mutexattr_t attr;
	pthread_rwlockattr_t rwlockattr;
	sharable = map_page(flags);
	MUST(pthread_mutexattr_init(&attr));
	MUST(pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED));
	MUST(pthread_mutex_init(&sharable->normal, &attr));
	MUST(pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST));
	MUST(pthread_mutex_init(&sharable->robust, &attr));
	MUST(pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_STALLED));
	MUST(pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ERRORCHECK));
	MUST(pthread_mutex_init(&sharable->checking, &attr));
	MUST(pthread_rwlockattr_init(&rwlockattr));
	MUST(pthread_rwlockattr_setpshared(&rwlockattr, PTHREAD_PROCESS_SHARED));
	MUST(pthread_rwlock_init(&sharable->read, &rwlockattr));
	MUST(pthread_rwlock_init(&sharable->written, &rwlockattr));
	MUST(pthread_spin_init(&sharable->spinlock, PTHREAD_PROCESS_SHARED));
}

static void *use_parents_locks(void *unused)
{
	RET(pthread_mutex_trylock(&sharable->normal));
	RET(pthread_mutex_timedlock(&sharable->normal, PAST));
	RET(pthread_mutex_trylock(&sharable->checking));
	RET(pthread_mutex_timedlock(&sharable->checking, PAST));
	RET(pthread_mutex_unlock(&sharable->checking));
	RET(pthread_mutex_trylock(&sharable->robust));
	RET(pthread_mutex_timedlock(&sharable->robust, PAST));
	RET(pthread_rwlock_tryrdlock(&sharable->read));
	RET(pthread_rwlock_unlock(&sharable->read));
	RET(pthread_rwlock_trywrlock(&sharable->read));
	RET(pthread_rwlock_timedrdlock(&sharable->written, PAST));
	RET(pthread_spin_trylock(&sharable->spinlock));
	return unused;
}

static void lock_the_sharable(void)
{
	RET(pthread_mutex_lock(&sharable->normal));
	RET(pthread_mutex_lock(&sharable->checking));
	RET(pthread_mutex_lock(&sharable->robust));
	RET(pthread_rwlock_rdlock(&sharable->read));
	RET(pthread_rwlock_wrlock(&sharable->written));
	RET(pthread_spin_lock(&sharable->spinlock));
}

static void unlock_the_sharable(void)
{
	RET(pthread_spin_unlock(&sharable->spinlock));
	RET(pthread_rwlock_unlock(&sharable->written));
	RET(pthread_rwlock_unlock(&sharable->read));
	RET(pthread_mutex_unlock(&sharable->robust));
	RET(pthread_mutex_unlock(&sharable->checking));
	RET(pthread_mutex_unlock(&sharable->normal));
}

CASE(shared_locks_that_the_parent_holds)
{
	make_sharable(MAP_SHARED);
	lock_the_sharable();
	in_child(use_parents_locks, NULL);
	unlock_the_sharable();
	/* By their attributes alone: the child has its own copies. */
	make_sharable(MAP_PRIVATE);
	lock_the_sharable();
	in_child(use_parents_locks, NULL);
	unlock_the_sharable();
}

static void *wait_for_the_parent(void *unused)
{
	RET(pthread_mutex_lock(&sharable->normal));
	RET(pthread_mutex_lock(&sharable->checking));
	RET(pthread_mutex_lock(&sharable->robust));
	RET(pthread_rwlock_wrlock(&sharable->read));
	RET(pthread_rwlock_rdlock(&sharable->written));
	RET(pthread_spin_lock(&sharable->spinlock));
	unlock_the_sharable();
	return unused;
}

CASE(waits_for_shared_locks_of_the_parent)
{
	make_sharable(MAP_SHARED);
	lock_the_sharable();
	pid_t child = fork();
	if (child == 0) {
		wait_for_the_parent(NULL);
		_exit(0);
	}
	await_futex(child, child, &sharable->normal, sizeof sharable->normal);
	/* The child goes on at the last of these. */
	MUST(pthread_spin_unlock(&sharable->spinlock));
	MUST(pthread_rwlock_unlock(&sharable->written));
	MUST(pthread_rwlock_unlock(&sharable->read));
	MUST(pthread_mutex_unlock(&sharable->robust));
	MUST(pthread_mutex_unlock(&sharable->checking));
	MUST(pthread_mutex_unlock(&sharable->normal));
	await(child);
}

/* ---- Handlers of forks ---- */

static void prepare(void)
{
	say("prepare");
	RET(pthread_mutex_lock(&mutex));
}

static void in_parent(void)
{
	say("parent or child");
	RET(pthread_mutex_unlock(&mutex));
}

CASE(atfork)
{
	RET(pthread_atfork(prepare, NULL, NULL));
	pid_t child = fork();
	if (child == 0) {
		RET(pthread_mutex_trylock(&mutex));
		_exit(0);
	}
	await(child);
	in_parent();
}

static void take_recursive(void)
{
	pthread_mutex_lock(&recursive);
}

static void give_recursive(void)
{
	pthread_mutex_unlock(&recursive);
}

static void renew_recursive(void)
{
	recursive = (pthread_mutex_t)PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
}

static void *use_recursive(void *unused)
{
	RET(pthread_mutex_lock(&recursive));
	RET(pthread_mutex_unlock(&recursive));
	RET(pthread_mutex_unlock(&recursive));
	return unused;
}

CASE(atfork_that_locks_and_unlocks)
{
	RET(pthread_atfork(take_recursive, give_recursive, renew_recursive));
	for (int i = 0; i < 3; i++)
		in_child(use_recursive, NULL);
	use_recursive(NULL);
}

/* ---- vfork, posix_spawn, clone, exec ---- */

CASE(vfork_and_exec)
{
	RET(pthread_mutex_lock(&mutex));
	pid_t child = vfork();
	if (child == 0) {
		execl("/bin/true", "true", (char *)NULL);
		_exit(96);
	}
	await(child);
	RET(pthread_mutex_trylock(&mutex));
	RET(pthread_mutex_unlock(&mutex));
}

/* It shares the parent's memory, thread state included. */
CASE(vfork_and_locks)
{
	pid_t child = vfork();
	if (child == 0) {
		pthread_rwlock_rdlock(&rwlock);
		_exit(5);
	}
	await(child);
	RET(pthread_rwlock_trywrlock(&rwlock));
	RET(pthread_rwlock_unlock(&rwlock));
	RET(pthread_rwlock_trywrlock(&rwlock));
	use_locks_in_threads((pthread_rwlock_unlock(&rwlock), NULL));
}

CASE(posix_spawn)
{
	extern char **environ;
	pid_t child;
	RET(pthread_mutex_lock(&mutex));
	RET(posix_spawn(&child, "/bin/sh", NULL, NULL, (char *[]){"sh", "-c", "exit 7", NULL}, environ));
	await(child);
	RET(posix_spawn(&child, "/there/is/no/such/program", NULL, NULL, (char *[]){"none", NULL}, environ));
	RET(posix_spawnp(&child, "true", NULL, NULL, (char *[]){"true", NULL}, environ));
	await(child);
	RET(pthread_mutex_unlock(&mutex));
}

static void *spawn(void *unused)
{
	extern char **environ;
	for (int i = 0; i < 5; i++) {
		pid_t child;
		int status = 0;
		RET(posix_spawnp(&child, "true", NULL, NULL, (char *[]){"true", NULL}, environ));
		waitpid(child, &status, 0);
		say("%s", ending(status));
		use_locks(NULL);
	}
	return unused;
}

CASE(posix_spawn_by_a_thread)
{
	in_thread(spawn, NULL);
}

CASE(system)
{
	SYS(system("exit 3"));
	SYS(system("kill -9 $$"));
	use_locks(NULL);
}

static int cloned(void *unused)
{
	(void)unused;
	return pthread_mutex_trylock(&mutex) == 0 ? 6 : 7;
}

CASE(clone_of_the_process)
{
	static char stack[1 << 16] __attribute__((aligned(64)));
	pid_t child = clone(cloned, stack + sizeof stack, SIGCHLD, NULL);
	await(child);
	use_locks(NULL);
}

/* ---- Children that no handler of forks hears of ---- */

#if __GLIBC_PREREQ(2, 34)
static void *use_others(void *unused)
{
	RET(pthread_rwlock_wrlock(&rwlock));
	RET(pthread_rwlock_unlock(&rwlock));
	RET(pthread_mutex_lock(&recursive));
	RET(pthread_mutex_unlock(&recursive));
	return unused;
}

/* What a signal handler may call. */
CASE(bare_fork)
{
	RET(pthread_mutex_lock(&mutex));
	for (int i = 0; i < 2; i++) {
		pid_t child = _Fork();
		if (child == 0) {
			RET(pthread_mutex_unlock(&mutex));
			RET(pthread_mutex_trylock(&mutex));
			in_thread(use_others, NULL);
			RET(pthread_rwlock_wrlock(&rwlock));
			_exit(0);
		}
		await(child);
		use_others(NULL);
	}
	RET(pthread_mutex_unlock(&mutex));
	use_locks(NULL);
}
#endif

static int cloned_with_locks(void *argument)
{
	/* The parent's, by its own word. */
	RET(pthread_mutex_unlock(&mutex));
	RET(pthread_rwlock_wrlock(&rwlock));
	RET(pthread_rwlock_unlock(&rwlock));
	RET(pthread_mutex_lock(&recursive));
	RET(pthread_mutex_lock(&recursive));
	RET(pthread_rwlock_rdlock(&rwlock));
	return *(int *)argument;
}

CASE(clone_with_locks)
{
	static char stack[1 << 18] __attribute__((aligned(64)));
	int answer = 42;
	RET(pthread_mutex_lock(&mutex));
	for (int i = 0; i < 3; i++) {
		pid_t child = clone(cloned_with_locks, stack + sizeof stack, SIGCHLD, &answer);
		await(child);
		RET(pthread_rwlock_wrlock(&rwlock));
		RET(pthread_rwlock_unlock(&rwlock));
	}
	RET(pthread_mutex_unlock(&mutex));
	use_locks(NULL);
}

static sigjmp_buf back;

static int jump_back(void *unused)
{
	(void)unused;
	siglongjmp(back, 1);
}

/* As Chromium forks: the child goes on where the parent called. */
CASE(clone_that_returns)
{
	static char stack[1 << 16] __attribute__((aligned(64)));
	static pid_t child;
	if (sigsetjmp(back, 0) == 0)
		child = clone(jump_back, stack + sizeof stack, SIGCHLD, NULL);
	if (child == 0) {
		use_locks_in_threads(NULL);
		_exit(0);
	}
	await(child);
	use_locks(NULL);
}

/* By the system call itself. */
CASE(forked_by_system_call)
{
	RET(pthread_mutex_lock(&mutex));
	for (int i = 0; i < 3; i++) {
		pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
		if (child == 0) {
			RET(pthread_rwlock_wrlock(&rwlock));
			RET(pthread_rwlock_unlock(&rwlock));
			RET(pthread_mutex_lock(&recursive));
			RET(pthread_rwlock_rdlock(&rwlock));
			_exit(0);
		}
		await(child);
		RET(pthread_rwlock_wrlock(&rwlock));
		RET(pthread_rwlock_unlock(&rwlock));
	}
	RET(pthread_mutex_unlock(&mutex));
	use_locks(NULL);
}

static atomic_int cloned_is_done;

static int use_as_cloned_thread(void *unused)
{
	(void)unused;
	atomic_int fine = pthread_rwlock_wrlock(&rwlock) == 0 && pthread_rwlock_unlock(&rwlock) == 0 &&
			  pthread_mutex_lock(&recursive) == 0 && pthread_mutex_unlock(&recursive) == 0;
	cloned_is_done = fine + 1;
	return 0;
}

/* A thread that the C library has not made: it has its maker's thread-local storage. Its maker waits, as it must. */
CASE(cloned_thread)
{
	static char stack[1 << 18] __attribute__((aligned(64)));
	static pid_t tid;
	RET(pthread_mutex_lock(&mutex));
	tid = 1;
	int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | CLONE_CHILD_CLEARTID;
	say("made: %d", clone(use_as_cloned_thread, stack + sizeof stack, flags, NULL, NULL, NULL, &tid) > 0);
	while (*(volatile pid_t *)&tid)
		syscall(SYS_sched_yield);
	say("fine: %d", cloned_is_done - 1);
	RET(pthread_mutex_unlock(&mutex));
	use_locks(NULL);
}

static int use_as_vforked(void *argument)
{
	cloned_is_done = 1 + (pthread_rwlock_rdlock(&rwlock) == 0 && pthread_rwlock_unlock(&rwlock) == 0);
	return *(int *)argument;
}

/* As posix_spawn does it: the parent waits, and its memory is the child's. */
CASE(clone_as_vfork)
{
	static char stack[1 << 18] __attribute__((aligned(64)));
	int answer = 3;
	RET(pthread_mutex_lock(&mutex));
	pid_t child = clone(use_as_vforked, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD, &answer);
	await(child);
	say("fine: %d", cloned_is_done - 1);
	RET(pthread_mutex_unlock(&mutex));
	use_locks(NULL);
}

CASE(spawned_with_attributes)
{
	extern char **environ;
	posix_spawnattr_t attr;
	posix_spawn_file_actions_t actions;
	sigset_t set;
	pid_t child;
	sigfillset(&set);
	MUST(posix_spawnattr_init(&attr));
	MUST(posix_spawn_file_actions_init(&actions));
	RET(posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK));
	RET(posix_spawnattr_setpgroup(&attr, 0));
	RET(posix_spawnattr_setsigdefault(&attr, &set));
	sigdelset(&set, SIGTERM);
	RET(posix_spawnattr_setsigmask(&attr, &set));
	RET(posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0));
	RET(posix_spawn_file_actions_addclose(&actions, 9));
	RET(pthread_mutex_lock(&mutex));
	RET(posix_spawn(&child, "/bin/true", &actions, &attr, (char *[]){"true", NULL}, environ));
	await(child);
	RET(posix_spawn(&child, "/there/is/no/such/program", &actions, &attr, (char *[]){"true", NULL}, environ));
	RET(posix_spawn_file_actions_addopen(&actions, 1, "/there/is/no/such/file", O_RDONLY, 0));
	RET(posix_spawn(&child, "/bin/true", &actions, &attr, (char *[]){"true", NULL}, environ));
	RET(pthread_mutex_unlock(&mutex));
	RET(posix_spawn_file_actions_destroy(&actions));
	RET(posix_spawnattr_destroy(&attr));
}

static void fork_in_handler(int number)
{
	(void)number;
	in_child(use_locks, NULL);
}

CASE(forked_by_a_handler)
{
	signal(SIGUSR1, fork_in_handler);
	raise(SIGUSR1);
	RET(pthread_rwlock_rdlock(&rwlock));
	RET(pthread_rwlock_unlock(&rwlock));
	raise(SIGUSR1);
}

CASE(exec)
{
	if (!getenv("AGAIN")) {
		MUST(setenv("AGAIN", "1", 1));
		RET(pthread_mutex_lock(&mutex));
		execl("/proc/self/exe", "again", "exec", (char *)NULL);
		say("exec failed");
	}
	RET(pthread_mutex_lock(&mutex));
	RET(pthread_mutex_unlock(&mutex));
}

CASE(exec_that_fails)
{
	SYS(execl("/there/is/no/such/program", "none", (char *)NULL));
	use_locks(NULL);
}

static void *exec_it(void *unused)
{
	(void)unused;
	pthread_mutex_lock(&mutex);
	execl("/bin/echo", "echo", "executed by a thread", (char *)NULL);
	return NULL;
}

CASE(exec_by_a_thread)
{
	in_thread(exec_it, NULL);
	say("never here");
}

/* ---- Shared by processes that are not each other's children ---- */

struct common {
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	pthread_rwlock_t rwlock;
	sem_t sem;
	struct gate ready, go_on;
	int is_set;
};

static struct common *map(const char *name, int flags)
{
	int fd = shm_open(name, O_RDWR | flags, 0600);
	if (fd < 0 || ftruncate(fd, sizeof(struct common))) {
		say("shm_open: %s", error_name(errno));
		_exit(98);
	}
	struct common *common = mmap(NULL, sizeof *common, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	return common;
}

CASE(unrelated)
{
	const char *name = getenv("COMMON");
	if (name) {
		/* The other program. */
		struct common *common = map(name, 0);
		RET(pthread_mutex_trylock(&common->mutex));
		RET(pthread_rwlock_tryrdlock(&common->rwlock));
		RET(pthread_rwlock_trywrlock(&common->rwlock));
		SYS(sem_trywait(&common->sem));
		open_gate(&common->ready);
		RET(pthread_mutex_lock(&common->mutex));
		open_gate(&common->go_on);
		while (!common->is_set)
			RET(pthread_cond_wait(&common->cond, &common->mutex));
		RET(pthread_mutex_unlock(&common->mutex));
		SYS(sem_post(&common->sem));
		/* Dies with it. */
		RET(pthread_mutex_lock(&common->mutex));
		return;
	}
	char own[64];
	snprintf(own, sizeof own, "/lockwright-common-%d", getpid());
	struct common *common = map(own, O_CREAT | O_EXCL);
	pthread_mutexattr_t attr;
	pthread_condattr_t cond_attr;
	pthread_rwlockattr_t rwlock_attr;
	MUST(pthread_mutexattr_init(&attr));
	MUST(pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED));
	MUST(pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST));
	MUST(pthread_mutex_init(&common->mutex, &attr));
	MUST(pthread_condattr_init(&cond_attr));
	MUST(pthread_condattr_setpshared(&cond_attr, PTHREAD_PROCESS_SHARED));
	MUST(pthread_cond_init(&common->cond, &cond_attr));
	MUST(pthread_rwlockattr_init(&rwlock_attr));
	MUST(pthread_rwlockattr_setpshared(&rwlock_attr, PTHREAD_PROCESS_SHARED));
	MUST(pthread_rwlock_init(&common->rwlock, &rwlock_attr));
	MUST(sem_init(&common->sem, 1, 0));
	MUST(pthread_mutex_lock(&common->mutex));
	MUST(pthread_rwlock_rdlock(&common->rwlock));
	MUST(setenv("COMMON", own, 1));
	extern char **environ;
	pid_t child;
	MUST(posix_spawn(&child, "/proc/self/exe", NULL, NULL, (char *[]){"other", "unrelated", NULL}, environ));
	pass(&common->ready);
	MUST(pthread_mutex_unlock(&common->mutex));
	/* It waits, once the mutex that it took is free. */
	pass(&common->go_on);
	MUST(pthread_mutex_lock(&common->mutex));
	common->is_set = 1;
	MUST(pthread_mutex_unlock(&common->mutex));
	MUST(pthread_cond_signal(&common->cond));
	int status;
	waitpid(child, &status, 0);
	say("the other %s", ending(status));
	SYS(sem_wait(&common->sem));
	RET(pthread_rwlock_unlock(&common->rwlock));
	RET(pthread_rwlock_trywrlock(&common->rwlock));
	RET(pthread_mutex_lock(&common->mutex));
	RET(pthread_mutex_consistent(&common->mutex));
	RET(pthread_mutex_unlock(&common->mutex));
	SYS(shm_unlink(own));
}

/* One mutex that one process sees at two places. */
CASE(mapped_twice)
{
	char own[64];
	snprintf(own, sizeof own, "/lockwright-twice-%d", getpid());
	struct common *here = map(own, O_CREAT | O_EXCL), *there = map(own, 0);
	pthread_mutexattr_t attr;
	MUST(pthread_mutexattr_init(&attr));
	MUST(pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED));
	MUST(pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ERRORCHECK));
	RET(pthread_mutex_init(&here->mutex, &attr));
	RET(pthread_mutex_lock(&here->mutex));
	RET(pthread_mutex_trylock(&there->mutex));
	RET(pthread_mutex_lock(&there->mutex));
	RET(pthread_mutex_unlock(&there->mutex));
	RET(pthread_mutex_unlock(&here->mutex));
	RET(pthread_mutex_lock(&there->mutex));
	RET(pthread_mutex_unlock(&here->mutex));
	SYS(shm_unlink(own));
}

/* ---- Ends ---- */

static void lock_at_exit(void)
{
	say("at exit");
	use_locks(NULL);
}

CASE(atexit_handlers_lock)
{
	RET(atexit(lock_at_exit));
	RET(atexit(lock_at_exit));
	use_locks(NULL);
	exit(3);
}

CASE(quick_exit)
{
	RET(at_quick_exit(lock_at_exit));
	quick_exit(4);
}

CASE(exit_at_once)
{
	RET(atexit(lock_at_exit));
	use_locks(NULL);
	_Exit(7);
}

CASE(exit_at_once_in_a_vforked_child)
{
	int status;
	pid_t child = vfork();
	if (child == 0)
		_exit(8);
	MUST(waitpid(child, &status, 0) == child ? 0 : errno);
	say("%d", WEXITSTATUS(status));
	use_locks(NULL);
}

static void *exit_it(void *unused)
{
	saying = NULL;
	exit(5);
	return unused;
}

CASE(exit_by_a_thread)
{
	RET(atexit(lock_at_exit));
	in_thread(exit_it, NULL);
}

CASE(exit_with_locks_held)
{
	RET(pthread_mutex_lock(&mutex));
	RET(pthread_rwlock_rdlock(&rwlock));
	exit(6);
}

__attribute__((destructor)) static void lock_in_destructor(void)
{
	if (getenv("DESTRUCTOR"))
		use_locks(NULL);
}

CASE(destructors_lock)
{
	MUST(setenv("DESTRUCTOR", "1", 1));
	use_locks(NULL);
}

CASE(abort)
{
	RET(pthread_mutex_lock(&mutex));
	abort();
}
