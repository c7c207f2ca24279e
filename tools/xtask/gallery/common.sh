# What the scripts of the gallery share. $LOCKWRIGHT is the tool, $OUT where the report goes; the
# working folder is a new one.

# Runs the tool: `watch MODE [OPTION...] -- PROGRAM [ARG...]`. That it finds something is no error.
watch() {
	local mode=$1 code=0
	shift
	printf '%q ' lockwright "$mode" "$@" > "$OUT/command"
	"$LOCKWRIGHT" "$mode" --output "$OUT/report.txt" --html "$OUT/page.html" "$@" \
		> "$OUT/stdout" 2> "$OUT/stderr" || code=$?
	[ "$code" = 0 ] || [ "$code" = 66 ]
}

# Runs a command again and again until it succeeds, for half a minute.
await() {
	local i
	for i in $(seq 300); do
		"$@" > /dev/null 2>&1 && return
		sleep 0.1
	done
	return 1
}

# The sources of Debian's package, in the working folder: `debian_source PACKAGE`.
debian_source() {
	local options key=/usr/share/keyrings/debian-archive-keyring.gpg
	mkdir -p apt/lists/partial apt/cache/archives/partial apt/parts
	echo "deb-src [signed-by=$key] http://deb.debian.org/debian $(. /etc/os-release; echo "$VERSION_CODENAME") main" > apt/list
	options="-q -y -o Dir::Etc::SourceList=$PWD/apt/list -o Dir::Etc::SourceParts=$PWD/apt/parts
		-o Dir::State::Lists=$PWD/apt/lists -o Dir::Cache=$PWD/apt/cache -o APT::Sandbox::User=root"
	apt-get $options update
	apt-get $options source "$1"
}
