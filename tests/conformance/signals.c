/* Handlers of signals: which is installed, when it runs, how it is left; and masks. */
#include "case.h"

static pthread_mutex_t mutex = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static sigjmp_buf back;

static void plain(int number)
{
	say("plain: %s", sigabbrev_np(number));
}

static void with_info(int number, siginfo_t *info, void *context)
{
	say("with information: %s, code %d, value %d, context %d", sigabbrev_np(number), info->si_code,
	    info->si_code == SI_QUEUE ? info->si_value.sival_int : 0, context != NULL);
}

static const char *which(const struct sigaction *action)
{
	if (action->sa_flags & SA_SIGINFO)
		return action->sa_sigaction == with_info ? "with_info" : "another with information";
	return action->sa_handler == plain	 ? "plain"
	       : action->sa_handler == SIG_DFL ? "default"
	       : action->sa_handler == SIG_IGN ? "ignored"
					       : "another";
}

CASE(what_is_installed_is_told)
{
	struct sigaction old, action = {.sa_handler = plain, .sa_flags = SA_RESTART};
	SYS(sigaction(SIGUSR1, NULL, &old));
	say("%s", which(&old));
	SYS(sigaction(SIGUSR1, &action, &old));
	say("%s flags %x", which(&old), old.sa_flags & ~0x04000000);
	action = (struct sigaction){.sa_sigaction = with_info, .sa_flags = SA_SIGINFO};
	SYS(sigaction(SIGUSR1, &action, &old));
	say("%s flags %x", which(&old), old.sa_flags & ~0x04000000);
	raise(SIGUSR1);
	sigqueue(getpid(), SIGUSR1, (union sigval){.sival_int = 42});
	say("plain was: %d", signal(SIGUSR1, plain) == (void (*)(int))(void *)with_info);
	raise(SIGUSR1);
	say("%d", signal(SIGUSR1, SIG_IGN) == plain);
	raise(SIGUSR1);
	say("%d", signal(SIGUSR1, SIG_DFL) == SIG_IGN);
	SYS(sigaction(SIGUSR1, NULL, &old));
	say("%s", which(&old));
}

CASE(what_cannot_be_handled)
{
	struct sigaction action = {.sa_handler = plain};
	SYS(sigaction(SIGKILL, &action, NULL));
	SYS(sigaction(SIGSTOP, &action, NULL));
	SYS(sigaction(0, &action, NULL));
	SYS(sigaction(65, &action, NULL));
	SYS(sigaction(32, &action, NULL));
	errno = SENTINEL;
	say("%d", signal(SIGKILL, plain) == SIG_ERR);
	say("%d%s", signal(-1, plain) == SIG_ERR, errno_after(errno));
}

CASE(reset_when_handled)
{
	struct sigaction old, action = {.sa_handler = plain, .sa_flags = SA_RESETHAND};
	SYS(sigaction(SIGUSR1, &action, NULL));
	raise(SIGUSR1);
	SYS(sigaction(SIGUSR1, NULL, &old));
	say("%s", which(&old));
	raise(SIGUSR1);
	say("never here");
}

static void lock_in_handler(int number)
{
	(void)number;
	RET(pthread_mutex_trylock(&mutex));
	RET(pthread_mutex_unlock(&mutex));
}

CASE(handler_that_locks)
{
	signal(SIGUSR1, lock_in_handler);
	raise(SIGUSR1);
	RET(pthread_mutex_lock(&mutex));
	raise(SIGUSR1);
	RET(pthread_mutex_unlock(&mutex));
}

static void leave(int number)
{
	siglongjmp(back, number);
}

CASE(handler_left_by_a_jump)
{
	for (int i = 0; i < 3; i++) {
		signal(SIGUSR1, leave);
		int number = sigsetjmp(back, 1);
		if (number == 0) {
			MUST(pthread_mutex_lock(&mutex));
			raise(SIGUSR1);
			say("never here");
		}
		say("%s", sigabbrev_np(number));
		RET(pthread_mutex_unlock(&mutex));
		RET(pthread_mutex_lock(&mutex));
		RET(pthread_mutex_unlock(&mutex));
		sigset_t set;
		MUST(sigprocmask(SIG_SETMASK, NULL, &set));
		say("blocked: %d", sigismember(&set, SIGUSR1));
	}
}

static void *jump_out_of_the_wait(void *argument)
{
	sem_t *sem = argument;
	static _Thread_local volatile int times;
	if (sigsetjmp(back, 1) == 0) {
		sem_wait(sem);
		say("never here");
	}
	say("out of the wait, %d", ++times);
	SYS(sem_post(sem));
	SYS(sem_wait(sem));
	RET(pthread_mutex_lock(&mutex));
	RET(pthread_mutex_unlock(&mutex));
	return NULL;
}

CASE(wait_left_by_a_jump)
{
	for (unsigned value = 0; value < 2; value++) {
		static sem_t sem;
		struct worker worker;
		MUST(sem_init(&sem, 0, value));
		if (value)
			SYS(sem_wait(&sem));
		signal(SIGUSR1, leave);
		start(&worker, jump_out_of_the_wait, &sem);
		await_blocked(&worker, &sem);
		MUST(pthread_kill(worker.thread, SIGUSR1));
		finish(&worker);
	}
}

static void fault(int number)
{
	say("a fault: %s", sigabbrev_np(number));
	siglongjmp(back, 1);
}

/* As a stack that has overflown must be handled. */
CASE(on_another_stack)
{
	static char stack[1 << 16];
	stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack}, old;
	SYS(sigaltstack(&alternate, &old));
	say("before: %d", old.ss_flags == SS_DISABLE);
	struct sigaction action = {.sa_handler = fault, .sa_flags = SA_ONSTACK};
	SYS(sigaction(SIGSEGV, &action, NULL));
	for (int i = 0; i < 3; i++) {
		if (sigsetjmp(back, 1) == 0) {
			MUST(pthread_mutex_lock(&mutex));
			*(volatile int *)8 = 1;
		}
		RET(pthread_mutex_unlock(&mutex));
	}
	SYS(sigaltstack(NULL, &old));
	say("kept: %d, size %zu", old.ss_sp == stack, old.ss_size);
}

CASE(plain_jumps)
{
	jmp_buf here;
	volatile int times = 0;
	int value = setjmp(here);
	say("%d", value);
	if (times++ < 2) {
		RET(pthread_mutex_lock(&mutex));
		RET(pthread_mutex_unlock(&mutex));
		longjmp(here, times == 1 ? 0 : 7);
	}
}

CASE(masks)
{
	sigset_t set, old;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	signal(SIGUSR1, plain);
	RET(pthread_sigmask(SIG_BLOCK, &set, &old));
	say("%d", sigismember(&old, SIGUSR1));
	raise(SIGUSR1);
	say("pending");
	sigset_t pending;
	SYS(sigpending(&pending));
	say("%d", sigismember(&pending, SIGUSR1));
	RET(pthread_sigmask(SIG_UNBLOCK, &set, &old));
	say("%d", sigismember(&old, SIGUSR1));
	RET(pthread_sigmask(99, &set, NULL));
	SYS(sigprocmask(99, &set, NULL));
	SYS(sigprocmask(SIG_SETMASK, &set, NULL));
	raise(SIGUSR1);
	sigemptyset(&set);
	SYS(sigsuspend(&set));
	SYS(sigprocmask(SIG_SETMASK, NULL, &old));
	say("blocked yet: %d", sigismember(&old, SIGUSR1));
}

CASE(waited_for)
{
	sigset_t set;
	siginfo_t info;
	int number = 0;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	RET(pthread_sigmask(SIG_BLOCK, &set, NULL));
	raise(SIGUSR2);
	RET(sigwait(&set, &number));
	say("%s", sigabbrev_np(number));
	sigqueue(getpid(), SIGUSR2, (union sigval){.sival_int = 11});
	say("%d", SYS(sigwaitinfo(&set, &info)) == SIGUSR2 && info.si_value.sival_int == 11);
	SYS(sigtimedwait(&set, &info, &(struct timespec){.tv_nsec = 1000}));
	SYS(ppoll(NULL, 0, &(struct timespec){.tv_nsec = 1000}, &set));
	SYS(pselect(0, NULL, NULL, NULL, &(struct timespec){.tv_nsec = 1000}, &set));
}

CASE(default_actions)
{
	int numbers[] = {SIGTERM, SIGUSR1, SIGSEGV, SIGALRM, SIGPIPE};
	for (int i = 0; i < 5; i++) {
		pid_t child = fork();
		if (child == 0) {
			pthread_mutex_lock(&mutex);
			raise(numbers[i]);
			_exit(0);
		}
		int status;
		waitpid(child, &status, 0);
		say("%s", ending(status));
	}
}

static void keep_errno_not(int number)
{
	(void)number;
	errno = EXDEV;
}

CASE(errno_is_the_handlers_affair)
{
	signal(SIGUSR1, keep_errno_not);
	errno = SENTINEL;
	raise(SIGUSR1);
	say("%s", error_name(errno));
}
