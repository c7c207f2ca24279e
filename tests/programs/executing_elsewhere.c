/* Executes the PROGRAM in FOLDER from other places than its own: by a PATH of its own, from a directory that is open or
 * that a child changes to, from memory, and by SCRIPTs.
 *
 *   executing_elsewhere FOLDER PROGRAM SCRIPT...
 *
 * Prints how each child ended.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../conformance/older_glibc.h"

extern char **environ;

static void ends(const char *how, pid_t child)
{
	int status = 0;
	waitpid(child, &status, 0);
	printf("%s: %d\n", how, status);
	fflush(stdout);
}

static void by_its_path(const char *folder, const char *program)
{
	pid_t child = fork();
	if (child == 0) {
		char *path;
		if (asprintf(&path, "/nowhere:%s:/bin", folder) < 0)
			_exit(1);
		setenv("PATH", path, 1);
		execlp(program, program, "7", (char *)NULL);
		_exit(2);
	}
	ends("PATH", child);
}

static void from_an_open_directory(const char *folder, const char *program)
{
	pid_t child = fork();
	if (child == 0) {
		int at = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		execveat(at, program, (char *[]){(char *)program, "7", NULL}, environ, 0);
		_exit(2);
	}
	ends("execveat", child);
}

static void after_chdir(const char *folder, const char *program)
{
	posix_spawn_file_actions_t actions;
	pid_t child;
	char *path;
	if (asprintf(&path, "./%s", program) < 0)
		exit(1);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 9, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addchdir_np(&actions, folder);
	int error = posix_spawn(&child, path, &actions, NULL, (char *[]){path, "7", NULL}, environ);
	if (error)
		printf("posix_spawn: %s\n", strerror(error));
	else
		ends("chdir", child);
}

static void from_memory(const char *folder, const char *program)
{
	char *path;
	struct stat stat;
	if (asprintf(&path, "%s/%s", folder, program) < 0)
		exit(1);
	int from = open(path, O_RDONLY | O_CLOEXEC), memory = memfd_create("program", MFD_CLOEXEC);
	fstat(from, &stat);
	if (sendfile(memory, from, NULL, stat.st_size) != stat.st_size)
		exit(1);
	pid_t child = fork();
	if (child == 0) {
		fexecve(memory, (char *[]){path, "7", NULL}, environ);
		_exit(2);
	}
	ends("memory", child);
}

static void many_arguments(const char *folder, const char *program)
{
	enum { MANY = 20000 };
	static char *arguments[MANY + 1];
	char *path;
	if (asprintf(&path, "%s/%s", folder, program) < 0)
		exit(1);
	for (int i = 0; i < MANY; i++)
		arguments[i] = "7";
	pid_t child = vfork();
	if (child == 0) {
		execv(path, arguments);
		_exit(2);
	}
	ends("arguments", child);
}

int main(int argc, char **argv)
{
	by_its_path(argv[1], argv[2]);
	from_an_open_directory(argv[1], argv[2]);
	after_chdir(argv[1], argv[2]);
	from_memory(argv[1], argv[2]);
	many_arguments(argv[1], argv[2]);
	for (int i = 3; i < argc; i++) {
		pid_t child;
		if (posix_spawnp(&child, argv[i], NULL, NULL, (char *[]){argv[i], NULL}, environ))
			return 1;
		ends("script", child);
	}
	return 0;
}
