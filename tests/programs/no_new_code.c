// Executes a program that may have no memory that becomes code: PR_SET_MDWE, as systemd's MemoryDenyWriteExecute.
#include <errno.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

#ifndef PR_SET_MDWE
#define PR_SET_MDWE 65
#endif

int main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
	if (prctl(PR_SET_MDWE, 1, 0, 0, 0) && errno == EINVAL)
		return 77;
	execv(argv[1], argv + 1);
	perror(argv[1]);
	return 1;
}
