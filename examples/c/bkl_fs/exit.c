/* The beginning and the end of a process. */
#include "bkl_fs.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

_Thread_local struct task *current;
int semaphores[SEMAPHORES];

/* Semaphores and what is to be undone of them; the big kernel lock's besides at exit. */
static lw_mutex_t sem_lock = LW_MUTEX_INIT;

int begin_task(struct task *task, int owner, size_t memory)
{
	memset(task, 0, sizeof(*task));
	task->owner = owner;
	task->memory_size = memory;
	task->memory = mmap(NULL, memory, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (task->memory == MAP_FAILED)
		return -ENOMEM;
	/* Page by page, as the processes of that time had it. */
	madvise(task->memory, memory, MADV_NOHUGEPAGE);
	for (size_t at = 0; at < memory; at += (size_t)sysconf(_SC_PAGESIZE))
		((volatile char *)task->memory)[at] = 1;
	current = task;
	return 0;
}

void sys_semop(int semaphore, int by)
{
	lw_mutex_lock(&sem_lock);
	semaphores[semaphore] += by;
	current->undo[semaphore] -= by;
	lw_mutex_unlock(&sem_lock);
}

CALL_SITE void sem_exit(void)
{
	lock_kernel();
	lw_mutex_lock(&sem_lock);
	for (int i = 0; i < SEMAPHORES; i++) {
		semaphores[i] += current->undo[i];
		current->undo[i] = 0;
	}
	lw_mutex_unlock(&sem_lock);
	unlock_kernel();
}

static void exit_mm(void)
{
	munmap(current->memory, current->memory_size);
}

static void exit_files(void)
{
	for (int fd = 0; fd < FILES; fd++)
		if (current->files[fd])
			sys_close(fd);
}

/* All of it was under the big kernel lock. Only semaphores need it: what files need takes it itself. */
CALL_SITE void do_exit(void)
{
	if (!patches.do_exit)
		lock_kernel();
	exit_mm();
	sem_exit();
	exit_files();
	if (!patches.do_exit)
		unlock_kernel();
	current = NULL;
}
