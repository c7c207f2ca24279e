/* Executing programs: arguments and environment arrive as they were given, and what cannot be executed says why. */
#include "case.h"

#include <spawn.h>
#include <sys/stat.h>

#define SAY "echo \"$0 $# $*\" ${GIVEN-none}"
#define NOWHERE "/there/is/no/such/program"

static char *const arguments[] = {"sh", "-c", SAY, "zero", "one", "two", NULL};
static char *const given[] = {"GIVEN=this alone", NULL};

static void await(pid_t child)
{
	int status = 0;
	errno = SENTINEL;
	say("found: %d", waitpid(child, &status, 0) == child);
	say("the child %s", ending(status));
}

/* The child and its parent must not say something at the same time. */
static void spawned(int result, pid_t *child)
{
	await(*child);
	say("spawned: %d", result);
}

static void *call_execve(void *unused)
{
	SYS(execve("/bin/sh", arguments, given));
	return unused;
}

static void *call_execve_without_environment(void *unused)
{
	char **nothing = NULL;
	SYS(execve("/bin/sh", arguments, nothing));
	return unused;
}

static void *call_execv(void *unused)
{
	SYS(execv("/bin/sh", arguments));
	return unused;
}

static void *call_execvp(void *unused)
{
	SYS(execvp("sh", arguments));
	return unused;
}

static void *call_execvpe(void *unused)
{
	SYS(execvpe("sh", arguments, given));
	return unused;
}

static void *call_fexecve(void *unused)
{
	SYS(fexecve(open("/bin/sh", O_RDONLY | O_CLOEXEC), arguments, given));
	return unused;
}

static void *call_execveat(void *unused)
{
	SYS(execveat(open("/bin", O_RDONLY | O_DIRECTORY), "sh", arguments, given, 0));
	return unused;
}

static void *call_execveat_of_a_file(void *unused)
{
	SYS(execveat(open("/bin/sh", O_RDONLY | O_CLOEXEC), "", arguments, given, AT_EMPTY_PATH));
	return unused;
}

static void *call_execl(void *unused)
{
	SYS(execl("/bin/sh", "sh", "-c", SAY, "zero", "one", "two", "three", "four", "five", "six", (char *)NULL));
	return unused;
}

static void *call_execl_without_arguments(void *unused)
{
	SYS(execl("/bin/true", "true", (char *)NULL));
	return unused;
}

static void *call_execlp(void *unused)
{
	SYS(execlp("sh", "sh", "-c", SAY, "zero", "one", "two", "three", "four", "five", (char *)NULL));
	return unused;
}

static void *call_execle(void *unused)
{
	SYS(execle("/bin/sh", "sh", "-c", SAY, "zero", "one", "two", "three", (char *)NULL, given));
	return unused;
}

static void *call_execle_with_few_arguments(void *unused)
{
	SYS(execle("/bin/sh", "sh", "-c", SAY, (char *)NULL, given));
	return unused;
}

static void *(*const calls[])(void *) = {
	call_execve, call_execve_without_environment, call_execv, call_execvp, call_execvpe,
	call_fexecve, call_execveat, call_execveat_of_a_file,
	call_execl, call_execl_without_arguments, call_execlp, call_execle, call_execle_with_few_arguments,
};

CASE(every_function)
{
	MUST(setenv("GIVEN", "the program's", 1));
	for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
		in_child(calls[i], NULL);
}

CASE(by_a_vforked_child)
{
	pid_t child = vfork();
	if (child == 0) {
		execl("/bin/sh", "sh", "-c", SAY, "zero", "one", "two", "three", "four", (char *)NULL);
		_exit(96);
	}
	await(child);
	child = vfork();
	if (child == 0) {
		execve(NOWHERE, arguments, given);
		_exit(errno == ENOENT ? 95 : 96);
	}
	await(child);
}

CASE(what_cannot_be_executed)
{
	SYS(execve(NOWHERE, arguments, given));
	SYS(execv("/", arguments));
	SYS(execvp("there-is-no-such-program", arguments));
	SYS(execvp("", arguments));
	SYS(execvpe(NOWHERE, arguments, given));
	SYS(fexecve(-1, arguments, given));
	SYS(execveat(-1, "sh", arguments, given, 0));
	SYS(execl(NOWHERE, "none", "with", "many", "arguments", "on", "the", "stack", (char *)NULL));
	SYS(execlp("there-is-no-such-program", "none", (char *)NULL));
	SYS(execle(NOWHERE, "none", (char *)NULL, given));
	const char *volatile no_path = NULL;
	SYS(execve(no_path, arguments, given));
}

/* By PATH, the shell runs what the kernel cannot; by its path, nobody does. */
static void *execute_text(void *unused)
{
	char name[] = "/tmp/lockwright-conformance-XXXXXX";
	int fd = mkstemp(name);
	const char text[] = "echo a text: $1\n";
	put(fd, text, sizeof text - 1);
	fchmod(fd, 0700);
	close(fd);
	SYS(execl(name, "text", "argument", (char *)NULL));
	MUST(chdir("/"));
	pid_t child = fork();
	if (child == 0) {
		execlp(name, "text", "argument", (char *)NULL);
		_exit(96);
	}
	await(child);
	MUST(unlink(name));
	return unused;
}

CASE(a_text)
{
	in_child(execute_text, NULL);
}

CASE(from_the_working_directory)
{
	MUST(chdir("/bin"));
	pid_t child;
	spawned(posix_spawn(&child, "sh", NULL, NULL, arguments, given), &child);
	spawned(posix_spawn(&child, "./sh", NULL, NULL, arguments, given), &child);
}

CASE(spawned)
{
	pid_t child = -1;
	spawned(posix_spawn(&child, "/bin/sh", NULL, NULL, arguments, given), &child);
	spawned(posix_spawnp(&child, "sh", NULL, NULL, arguments, given), &child);
	int status = 0, result = posix_spawn(NULL, "/bin/sh", NULL, NULL, arguments, given);
	say("found: %d", wait(&status) > 0);
	say("the child %s", ending(status));
	say("spawned: %d", result);
	child = -1;
	RET(posix_spawn(&child, NOWHERE, NULL, NULL, arguments, given));
	RET(posix_spawnp(&child, "there-is-no-such-program", NULL, NULL, arguments, given));
	say("unchanged: %d", child == -1);
}

CASE(by_the_shell)
{
	SYS(system("exit 3"));
	SYS(system("kill -9 $$"));
	SYS(system("there-is-no-such-program 2>&1"));
	SYS(system(NULL) != 0);
	FILE *pipe = popen("cat; exit 4", "w");
	say("a pipe: %d", pipe != NULL);
	SYS(fputs("to the pipe\n", pipe) >= 0);
	SYS(pclose(pipe));
	char line[64] = "";
	pipe = popen("echo from the pipe", "r");
	say("read: %d %s", fgets(line, sizeof line, pipe) == line, line);
	SYS(pclose(pipe));
	SYS(popen("true", "neither") == NULL);
}

CASE(with_an_empty_environment)
{
	MUST(clearenv());
	SYS(system("echo ${GIVEN-none}"));
	in_child(call_execv, NULL);
	pid_t child;
	extern char **environ;
	spawned(posix_spawnp(&child, "sh", NULL, NULL, arguments, environ), &child);
}
