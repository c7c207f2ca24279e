#!/bin/sh
# Prints the folder of what builds and runs aarch64 programs on this machine. Makes it if there is none yet.
#
# All of it is Debian's: the packages of the suite that this machine is of are unpacked into the folder, and nothing is
# installed. apt has lists of its own there, so this machine's architectures stay as they are. The folder is kept in
# $LOCKWRIGHT_AARCH64.
set -eu

folder=${LOCKWRIGHT_AARCH64:-/var/cache/lockwright/aarch64}
wanted="rustc-web libstd-rust-web-dev:amd64 libstd-rust-web-dev:arm64 gcc-aarch64-linux-gnu libc6-dev-arm64-cross"

if [ -e "$folder.made" ]; then
	echo "$folder"
	exit
fi
for tool in apt-get dpkg-deb; do
	if ! command -v "$tool" >/dev/null; then
		echo "$tool is not there: the packages are Debian's" >&2
		exit 1
	fi
done
if ! mkdir -p "$folder" 2>/dev/null; then
	echo "no folder can be made at $folder: run this as root, or set LOCKWRIGHT_AARCH64" >&2
	exit 1
fi
exec 9>"$folder.lock"
flock 9
if [ -e "$folder.made" ]; then
	echo "$folder"
	exit
fi

echo "making the tools for aarch64 in $folder" >&2
rm -rf "$folder"
mkdir -p "$folder/apt/lists/partial" "$folder/apt/archives/partial" "$folder/bin"
: >"$folder/apt/status"

# With no package installed, apt gets all that the wanted ones depend on.
apt() {
	apt-get -qq -y -o Dir::State::status="$folder/apt/status" -o Dir::State::lists="$folder/apt/lists" \
		-o Dir::Cache::archives="$folder/apt/archives" -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= \
		-o APT::Architectures=amd64,arm64 -o APT::Sandbox::User=root -o APT::Install-Recommends=false \
		-o Debug::NoLocking=true "$@" >>"$folder.log" 2>&1
}
: >"$folder.log"
no_packages() {
	echo "no tools for aarch64: $(grep '^E: ' "$folder.log" || tail -n 1 "$folder.log") (all of it: $folder.log)" >&2
	exit 1
}
# A source that lacks arm64 is no matter if another has the packages.
apt update || true
# shellcheck disable=SC2086
apt --download-only install $wanted || no_packages
# Its dependencies as a package are those of an emulator with a screen; the static one needs nothing.
(cd "$folder/apt/archives" && apt download qemu-user-static) || no_packages

for package in "$folder"/apt/archives/*.deb; do
	case ${package##*/} in
	# Programs in the folder run on this machine's C library.
	libc6_*_amd64.deb) continue ;;
	esac
	dpkg-deb --fsys-tarfile "$package" | tar -x --keep-directory-symlink --no-same-owner -C "$folder"
done
rm -rf "$folder/apt"

# The linker's scripts say where the C library would be if it were installed.
sed -i "s|/usr/aarch64-linux-gnu/|$folder&|g" "$folder"/usr/aarch64-linux-gnu/lib/lib*.so 2>/dev/null || true

libraries=$folder/usr/lib/x86_64-linux-gnu
tool() {
	printf '#!/bin/sh\n%s\n' "$2" >"$folder/bin/$1"
	chmod +x "$folder/bin/$1"
}
tool aarch64-linux-gnu-gcc "LD_LIBRARY_PATH=$libraries exec $folder/usr/bin/aarch64-linux-gnu-gcc \"\$@\""
# Build scripts and procedural macros are linked with this machine's C compiler, whose libraries are its own.
rustc=$(find "$folder/usr" -name rustc -type f -perm -u+x | head -n 1)
tool rustc "LD_LIBRARY_PATH=$libraries exec $rustc --sysroot $folder/usr \"\$@\""
tool qemu-aarch64 "exec $folder/usr/bin/qemu-aarch64-static -L $folder/usr/aarch64-linux-gnu \"\$@\""

touch "$folder.made"
echo "$folder"
