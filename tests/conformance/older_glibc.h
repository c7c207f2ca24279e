/* Functions that programs of these tests call and that an older glibc lacks. */
#ifndef LOCKWRIGHT_OLDER_GLIBC_H
#define LOCKWRIGHT_OLDER_GLIBC_H

#include <errno.h>
#include <features.h>
#include <signal.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#if !__GLIBC_PREREQ(2, 34)

__attribute__((unused)) static int execveat(int dir, const char *path, char *const argv[], char *const envp[], int flags)
{
	return (int)syscall(SYS_execveat, dir, path, argv, envp, flags);
}

/* No handler of pthread_atfork is called. */
__attribute__((unused)) static pid_t _Fork(void)
{
	return (pid_t)syscall(SYS_fork);
}

#endif
#if !__GLIBC_PREREQ(2, 32)

__attribute__((unused)) static const char *strerrorname_np(int error)
{
#define ERROR_NAME(name)                                                                                               \
	case name:                                                                                                     \
		return #name;
	switch (error) {
		ERROR_NAME(EPERM)
		ERROR_NAME(ENOENT)
		ERROR_NAME(ESRCH)
		ERROR_NAME(EINTR)
		ERROR_NAME(EIO)
		ERROR_NAME(E2BIG)
		ERROR_NAME(ENOEXEC)
		ERROR_NAME(EBADF)
		ERROR_NAME(ECHILD)
		ERROR_NAME(EAGAIN)
		ERROR_NAME(ENOMEM)
		ERROR_NAME(EACCES)
		ERROR_NAME(EFAULT)
		ERROR_NAME(EBUSY)
		ERROR_NAME(EEXIST)
		ERROR_NAME(ENODEV)
		ERROR_NAME(ENOTDIR)
		ERROR_NAME(EINVAL)
		ERROR_NAME(EMFILE)
		ERROR_NAME(EFBIG)
		ERROR_NAME(ENOSPC)
		ERROR_NAME(EROFS)
		ERROR_NAME(EPIPE)
		ERROR_NAME(ERANGE)
		ERROR_NAME(EDEADLK)
		ERROR_NAME(ENOSYS)
		ERROR_NAME(EOVERFLOW)
		ERROR_NAME(ENOTSUP)
		ERROR_NAME(ETIMEDOUT)
		ERROR_NAME(ECANCELED)
		ERROR_NAME(EOWNERDEAD)
		ERROR_NAME(ENOTRECOVERABLE)
	}
#undef ERROR_NAME
	return NULL;
}

__attribute__((unused)) static const char *sigabbrev_np(int number)
{
#define SIGNAL_NAME(name)                                                                                              \
	case SIG##name:                                                                                                \
		return #name;
	switch (number) {
		SIGNAL_NAME(HUP)
		SIGNAL_NAME(INT)
		SIGNAL_NAME(QUIT)
		SIGNAL_NAME(ILL)
		SIGNAL_NAME(TRAP)
		SIGNAL_NAME(ABRT)
		SIGNAL_NAME(BUS)
		SIGNAL_NAME(FPE)
		SIGNAL_NAME(KILL)
		SIGNAL_NAME(USR1)
		SIGNAL_NAME(SEGV)
		SIGNAL_NAME(USR2)
		SIGNAL_NAME(PIPE)
		SIGNAL_NAME(ALRM)
		SIGNAL_NAME(TERM)
		SIGNAL_NAME(CHLD)
		SIGNAL_NAME(CONT)
		SIGNAL_NAME(STOP)
		SIGNAL_NAME(TSTP)
		SIGNAL_NAME(URG)
		SIGNAL_NAME(XCPU)
		SIGNAL_NAME(XFSZ)
		SIGNAL_NAME(WINCH)
		SIGNAL_NAME(SYS)
	}
#undef SIGNAL_NAME
	return NULL;
}

#endif
#endif
