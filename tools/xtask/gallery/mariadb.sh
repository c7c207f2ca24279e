# sysbench's transactions, by four clients.
# packages: mariadb-server sysbench
mariadb-install-db --no-defaults --auth-root-authentication-method=normal --skip-test-db --datadir="$PWD/data" --user=root
echo 'CREATE DATABASE IF NOT EXISTS bench;' > init.sql
watch run -- mariadbd --no-defaults --skip-networking --skip-log-bin --user=root --performance-schema=OFF \
	--init-file="$PWD/init.sql" --datadir="$PWD/data" --socket="$PWD/s" --pid-file="$PWD/pid" &
server=$!
await mariadb --no-defaults --user=root --socket="$PWD/s" --execute='SELECT 1' bench
for step in prepare run; do
	sysbench oltp_read_write --mysql-socket="$PWD/s" --mysql-user=root --mysql-db=bench --tables=4 --table-size=5000 \
		--mysql-ignore-errors=all --rand-seed=1 --threads=4 --time=0 --events=2000 $step
done
kill "$(cat pid)"
wait "$server"
