#!/bin/sh
# Runs a test program in a root: enter.sh ROOT WORKSPACE TARGET SHIPPED PROGRAM [ARGUMENT...]
#
# The program, its sources and what it was built to lie where they lie outside. Only the command that it tests is
# another, the shipped one, and what it compiles is kept apart: it is compiled by the root's compiler. To be called in a
# mount namespace of its own, which takes all mounts with it.
set -eu

root=$1 workspace=$2 target=$3 shipped=$4
shift 4

mount -t proc proc "$root/proc"
mount --rbind /sys "$root/sys"
mount --rbind /dev "$root/dev"
mount -t tmpfs tmpfs "$root/dev/shm"
mount -t tmpfs tmpfs "$root/tmp"

mkdir -p "$root$workspace" "$root$target"
mount --bind "$workspace" "$root$workspace"
mount --bind "$target" "$root$target"
programs=$target/roots/$(basename "$root")
mkdir -p "$programs" "$root$target/tmp"
mount --bind "$programs" "$root$target/tmp"
mount --bind "$shipped" "$root$target/debug/lockwright"

# A test program that needs a package is to say that it is not there, whatever it does in CI outside.
exec chroot "$root" /usr/bin/env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root \
	LANG=C.UTF-8 ${LOCKWRIGHT_TURN:+LOCKWRIGHT_TURN="$LOCKWRIGHT_TURN"} RUST_TEST_THREADS="${RUST_TEST_THREADS:-4}" \
	/bin/sh -c 'cd "$1" && shift && exec "$@"' sh "$workspace/host/cli" "$@"
