/* posix_spawn by the functions that programs were linked with before glibc 2.15: what is no program is a shell's. */
#include "case.h"

#include <spawn.h>
#include <sys/stat.h>

extern char **environ;

#define OLD(name)                                                                                                      \
	extern int old_##name(pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *,    \
			      char *const[], char *const[]);                                                           \
	__asm__(".symver old_" #name ", " #name "@GLIBC_2.2.5")

OLD(posix_spawn);
OLD(posix_spawnp);

static void await(pid_t child)
{
	int status = 0;
	waitpid(child, &status, 0);
	say("the child %s", ending(status));
}

CASE(script_that_names_no_interpreter)
{
	char path[] = "/tmp/lockwright-script-XXXXXX";
	const char script[] = "exit $1\n";
	pid_t child = 0;
	int fd = mkstemp(path);
	MUST(write(fd, script, sizeof script - 1) != sizeof script - 1);
	MUST(fchmod(fd, 0700));
	MUST(close(fd));
	char *arguments[] = {path, "7", NULL};
	if (RET(old_posix_spawn(&child, path, NULL, NULL, arguments, environ)) == 0)
		await(child);
	if (RET(old_posix_spawnp(&child, path, NULL, NULL, arguments, environ)) == 0)
		await(child);
	MUST(unlink(path));
}

CASE(programs)
{
	pid_t child = 0;
	if (RET(old_posix_spawn(&child, "/bin/true", NULL, NULL, (char *[]){"true", NULL}, environ)) == 0)
		await(child);
	if (RET(old_posix_spawnp(&child, "false", NULL, NULL, (char *[]){"false", NULL}, environ)) == 0)
		await(child);
	RET(old_posix_spawn(&child, "/there/is/no/such/program", NULL, NULL, (char *[]){"none", NULL}, environ));
}
