/* A signal's handler takes a spinlock, too. With the argument "irqsave" others take it with signals blocked, as they
 * must; with "plain" they do not. The signal comes while nobody has it. */
#include <lockwright.h>

#include <signal.h>
#include <stdio.h>
#include <string.h>

static lw_qspinlock_t counted = LW_QSPINLOCK_INIT;
static volatile int count;

static void on_signal(int signal)
{
	(void)signal;
	lw_qspinlock_lock(&counted);
	count++;
	lw_qspinlock_unlock(&counted);
}

static void add_with_signals_blocked(void)
{
	uint64_t flags;

	lw_qspinlock_lock_irqsave(&counted, &flags);
	count++;
	lw_qspinlock_unlock_irqrestore(&counted, flags);
}

static void add(void)
{
	lw_qspinlock_lock(&counted);
	count++;
	lw_qspinlock_unlock(&counted);
}

int main(int argc, char **argv)
{
	signal(SIGUSR1, on_signal);
	for (int i = 0; i < 3; i++) {
		if (argc > 1 && strcmp(argv[1], "irqsave") == 0)
			add_with_signals_blocked();
		else
			add();
		raise(SIGUSR1);
	}
	printf("%d\n", count);
	return 0;
}
