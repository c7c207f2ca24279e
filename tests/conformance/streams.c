/* The locks of streams, which programs can take themselves; and what is written while others write. */
#include "case.h"

static FILE *stream;
static struct gate held, let_go;
static pthread_mutex_t mutex = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;

static void *hold(void *argument)
{
	flockfile(stream);
	open_gate(&held);
	pass(&let_go);
	funlockfile(stream);
	return argument;
}

static void *wait_for_it(void *argument)
{
	RET(pthread_mutex_lock(&mutex));
	flockfile(stream);
	say("has it");
	RET(pthread_mutex_unlock(&mutex));
	funlockfile(stream);
	return argument;
}

CASE(locked)
{
	stream = tmpfile();
	SYS(ftrylockfile(stream));
	SYS(ftrylockfile(stream));
	funlockfile(stream);
	funlockfile(stream);
	struct worker holder, waiter;
	start(&holder, hold, NULL);
	pass(&held);
	SYS(ftrylockfile(stream) != 0);
	start(&waiter, wait_for_it, NULL);
	await_futex(getpid(), waiter.tid, NULL, 0);
	open_gate(&let_go);
	finish(&holder);
	finish(&waiter);
	SYS(ftrylockfile(stream));
	SYS(fputc('x', stream) == 'x');
	SYS(fprintf(stream, "%d", 42));
	funlockfile(stream);
	SYS(ftell(stream));
	SYS(fclose(stream));
}

static void *write_lines(void *argument)
{
	for (int i = 0; i < 500; i++)
		fprintf(stream, "%s %d\n", (const char *)argument, i);
	return NULL;
}

CASE(written_by_several)
{
	struct worker one, other;
	char line[64];
	int lines = 0, whole = 0;
	stream = tmpfile();
	start(&one, write_lines, "one");
	start(&other, write_lines, "other");
	finish(&one);
	finish(&other);
	rewind(stream);
	while (fgets(line, sizeof line, stream)) {
		lines++;
		whole += strncmp(line, "one ", 4) == 0 || strncmp(line, "other ", 6) == 0;
	}
	say("%d lines, %d whole", lines, whole);
}

/* A child may use the streams that another thread of its parent had locked. */
static void *use_stream(void *argument)
{
	say("written: %d", fputs("child", stdout) >= 0 && fflush(stdout) == 0);
	return argument;
}

static void *print(void *argument)
{
	while (!let_go.is_open)
		fputs("", stdout);
	return argument;
}

CASE(forked_while_it_is_used)
{
	struct worker worker;
	start(&worker, print, NULL);
	for (int i = 0; i < 10; i++)
		in_child(use_stream, NULL);
	open_gate(&let_go);
	finish(&worker);
}
