# Forty clients whose commands three threads take off the wire.
# packages: redis-server redis-tools
watch check -- redis-server --port 0 --unixsocket "$PWD/s" --save '' --io-threads 3 --io-threads-do-reads yes &
server=$!
await redis-cli -s s ping
redis-benchmark -s s -n 4000 -c 40 -P 8 -q -t incr,lpush,sadd,hset,spop
redis-cli -s s flushall async
redis-cli -s s shutdown nosave
wait "$server"
