# Reads by three threads while a fourth writes.
# packages: rocksdb-tools
db_bench --db="$PWD/db" --benchmarks=fillrandom --num=50000 > filled 2>&1
watch meter -- db_bench --db="$PWD/db" --benchmarks=readwhilewriting --use_existing_db=1 --threads=3 --num=50000 \
	--reads=60000
