/* Executes PROGRAM in every way that the C library has, one after the other, each in a child: once with its own
 * environment, and if there is another PROGRAM that one with an empty one.
 *
 *   executing PROGRAM [PROGRAM]
 *
 * Says how many ways there are.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../conformance/older_glibc.h"

extern char **environ;

static void with_execve(char *program)
{
	execve(program, (char *[]){program, NULL}, environ);
}

static void with_execv(char *program)
{
	execv(program, (char *[]){program, NULL});
}

static void with_execvp(char *program)
{
	execvp(program, (char *[]){program, NULL});
}

static void with_execvpe(char *program)
{
	execvpe(program, (char *[]){program, NULL}, environ);
}

static void with_execl(char *program)
{
	execl(program, program, "1", "2", "3", "4", "5", "6", (char *)NULL);
}

static void with_execlp(char *program)
{
	execlp(program, program, (char *)NULL);
}

static void with_execle(char *program)
{
	execle(program, program, "1", "2", "3", "4", "5", (char *)NULL, environ);
}

static void with_fexecve(char *program)
{
	fexecve(open(program, O_RDONLY | O_CLOEXEC), (char *[]){program, NULL}, environ);
}

static void with_syscall_execve(char *program)
{
	syscall(SYS_execve, program, (char *[]){program, NULL}, environ);
}

static void with_syscall_execveat(char *program)
{
	syscall(SYS_execveat, AT_FDCWD, program, (char *[]){program, NULL}, environ, 0);
}

static void with_execveat(char *program)
{
	execveat(AT_FDCWD, program, (char *[]){program, NULL}, environ, 0);
}

/* The first attempt fails. */
static void with_the_second_attempt(char *program)
{
	execv("/there/is/no/such/program", (char *[]){program, NULL});
	execv(program, (char *[]){program, NULL});
}

static void with_vfork(char *program)
{
	pid_t child = vfork();
	if (child == 0) {
		execl(program, program, (char *)NULL);
		_exit(1);
	}
	waitpid(child, NULL, 0);
	_exit(0);
}

static void with_posix_spawn(char *program)
{
	pid_t child;
	if (posix_spawn(&child, program, NULL, NULL, (char *[]){program, NULL}, environ))
		_exit(1);
	waitpid(child, NULL, 0);
	_exit(0);
}

static void with_posix_spawnp(char *program)
{
	if (posix_spawnp(NULL, program, NULL, NULL, (char *[]){program, NULL}, environ))
		_exit(1);
	wait(NULL);
	_exit(0);
}

static void with_system(char *program)
{
	_exit(system(program) != 0);
}

static void with_popen(char *program)
{
	FILE *pipe = popen(program, "w");
	_exit(!pipe || pclose(pipe));
}

static void (*const ways[])(char *) = {
	with_execve, with_execv, with_execvp, with_execvpe, with_execl, with_execlp, with_execle, with_fexecve, with_execveat,
	with_syscall_execve, with_syscall_execveat, with_the_second_attempt, with_vfork, with_posix_spawn, with_posix_spawnp,
	with_system, with_popen,
};

#define WAYS (sizeof ways / sizeof *ways)

static void in_every_way(char *program, int is_cleared)
{
	static char *nothing[] = {NULL};
	for (size_t i = 0; i < WAYS; i++) {
		pid_t child = fork();
		if (child == 0) {
			if (is_cleared)
				environ = nothing;
			ways[i](program);
			_exit(2);
		}
		int status = 0;
		if (waitpid(child, &status, 0) != child || status) {
			printf("way %zu failed\n", i);
			exit(1);
		}
	}
}

int main(int argc, char **argv)
{
	in_every_way(argv[1], 0);
	if (argc > 2)
		in_every_way(argv[2], 1);
	printf("%zu\n", WAYS);
	return 0;
}
