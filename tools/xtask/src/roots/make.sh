#!/bin/sh
# Prints the directory of a root of the Debian suite $1, which debootstrap makes if there is none yet.
#
# It has compilers for the test programs, and Python, whose locks differ by version. That of bullseye, which is the sysroot
# that a command for all later systems is linked with, has none. Roots are kept in $LOCKWRIGHT_ROOTS. $LOCKWRIGHT_MIRROR names a mirror of Debian other than debootstrap's own.
set -eu

suite=$1
roots=${LOCKWRIGHT_ROOTS:-/var/cache/lockwright/roots}
root=$roots/$suite
packages=gcc,g++,libc6-dev
[ "$suite" = bullseye ] || packages=$packages,python3

# sid changes from day to day.
if [ "$suite" = sid ] && [ -n "$(find "$root.made" -mtime +7 2>/dev/null)" ]; then
	rm -f "$root.made"
fi

if [ ! -e "$root.made" ]; then
	if [ "$(id -u)" != 0 ]; then
		echo "only root can make a root of Debian's $suite: run this as root" >&2
		exit 1
	fi
	if ! command -v debootstrap >/dev/null; then
		echo "debootstrap is not installed (Debian package debootstrap)" >&2
		exit 1
	fi
	mkdir -p "$roots"
	exec 9>"$root.lock"
	flock 9
fi

if [ ! -e "$root.made" ]; then
	echo "making a root of Debian's $suite in $root" >&2
	rm -rf "$root"
	# Programs of this machine's environment, its preloaded ones above all, are not in there.
	if ! env -i PATH="$PATH" http_proxy="${http_proxy:-}" DEBOOTSTRAP_DIR=/usr/share/debootstrap \
		debootstrap --variant=minbase --include="$packages" "$suite" "$root" ${LOCKWRIGHT_MIRROR:+"$LOCKWRIGHT_MIRROR"} \
		>"$root.log" 2>&1; then
		echo "no root of Debian's $suite: $(grep '^E: ' "$root.log" || tail -n 1 "$root.log") (all of it: $root.log)" >&2
		exit 1
	fi
	# A linker outside of the root would follow absolute links to this machine's libraries.
	find "$root/usr/lib/x86_64-linux-gnu" "$root/usr/lib64" -maxdepth 1 -type l -lname '/*' |
		while read -r link; do
			target=$(realpath -ms --relative-to="$(dirname "$link")" "$root$(readlink "$link")")
			ln -sfn "$target" "$link"
		done
	rm -rf "$root"/var/cache/apt/archives/*.deb "$root"/var/lib/apt/lists/*
	touch "$root.made"
fi

echo "$root"
