#!/usr/bin/env bash
# QEMU's emulation of Linux programs agrees to MADV_WIPEONFORK and does not do it, so a lock's state that is to be zero in a
# forked child is the parent's there.
#
# Seen:     QEMU 7.2 (Debian 12, package qemu-user-static 1:7.2+dfsg-7+deb12u18+b3), x86-64 emulated on x86-64.
# Expected: as on Linux since 4.14: madvise returns 0, and the child of a fork reads zeros. Or an error (EINVAL), as Linux has for
#           advice that it does not know. A program that asks for it takes another way then.
# Observed: madvise returns 0 and the child reads what the parent wrote. Advice of a number that no kernel knows returns 0, too.
# Relevance: queues of waiting threads in memory that is to be wiped still hold the parent's threads in the child, which waits for
#           them for ever. `lockwright swap` therefore asks for advice that nobody knows first.
#
# Needs cc and apt-get (Debian 12). Fails if the behaviour differs from the one above.
set -euo pipefail
version=1:7.2+dfsg-7+deb12u18+b3
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"

apt-get download -qq "qemu-user-static=$version" >/dev/null
dpkg-deb -x qemu-user-static_*.deb root

cat >wipe.c <<'C'
#define _GNU_SOURCE
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define WIPE_ON_FORK 18
#define UNKNOWN 12345

int main(void)
{
	char *page = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int wiped = madvise(page, 4096, WIPE_ON_FORK);
	int unknown = madvise(page, 4096, UNKNOWN);
	page[0] = 7;
	pid_t child = fork();
	if (child == 0)
		_exit(page[0]);
	int status;
	waitpid(child, &status, 0);
	printf("wipe %d, unknown %d, child reads %d\n", wiped, unknown, WEXITSTATUS(status));
	return 0;
}
C
cc -O1 -static wipe.c -o wipe

natively=$(./wipe)
emulated=$(root/usr/bin/qemu-x86_64-static ./wipe)
root/usr/bin/qemu-x86_64-static --version | head -1
echo "natively: $natively"
echo "emulated: $emulated"
[[ $natively == "wipe 0, unknown -1, child reads 0" ]] || { echo "changed: the kernel does otherwise" >&2; exit 1; }
[[ $emulated == "wipe 0, unknown 0, child reads 7" ]] || { echo "changed: QEMU does otherwise" >&2; exit 1; }
echo "as recorded: QEMU agrees, and the child has its parent's data"
