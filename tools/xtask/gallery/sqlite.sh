# Four threads on two shared connections.
# packages: libsqlite3-0 gcc
cp "$REPOSITORY/xtask/src/bench/programs/sqlite.c" .
gcc -g -O2 -pthread -o sqlite sqlite.c -lsqlite3
watch meter -- ./sqlite 500
