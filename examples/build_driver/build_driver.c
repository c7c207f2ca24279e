/* A build, as far as its locks go: thousands of translation units, a dependency graph, a pool of threads with a
 * queue, a cache of parsed headers, an allocator with arenas, a job server, a log. What it reads is made from a seed,
 * and its checksum is the same for any number of threads.
 *
 *     make && ./build_driver --threads 4
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include "arena.h"
#include "graph.h"
#include "header_cache.h"
#include "job.h"
#include "log.h"
#include "pool.h"
#include "random.h"
#include "text.h"

static const char usage[] = "usage: build_driver [OPTIONS]\n"
			    "  --threads N   threads of the pool: 2\n"
			    "  --jobs N      jobs that may sort or link at once: as many as threads\n"
			    "  --units N     translation units: 4000\n"
			    "  --steps N     steps in which a unit's text is read: 16\n"
			    "  --bytes N     bytes that each of them reads: 2048\n"
			    "  --slice N     steps of a job before it goes back to the queue: 2\n"
			    "  --scopes N    scopes that begin in each step, with a lock each: 0\n"
			    "  --headers N   different headers: 600\n"
			    "  --cached N    headers that are kept parsed: 550\n"
			    "  --seed N      what the sources are made from: 1\n"
			    "  --lock NAME   lock of the pool's queue: mutex\n";

static void refuse(void)
{
	fputs(usage, stderr);
	fputs("locks:", stderr);
	for (const struct pool_lock *lock = pool_locks; lock->name; lock++)
		fprintf(stderr, " %s", lock->name);
	fputs("\n", stderr);
	exit(2);
}

static unsigned long number(const char *text, unsigned long most)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	if (*text < '0' || *text > '9' || *end || n > most)
		refuse();
	return n;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static double seconds(struct timeval t)
{
	return t.tv_sec + t.tv_usec / 1e6;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{"threads", required_argument, NULL, 't'}, {"jobs", required_argument, NULL, 'j'},
		{"units", required_argument, NULL, 'u'},   {"steps", required_argument, NULL, 's'},
		{"scopes", required_argument, NULL, 'o'},  {"headers", required_argument, NULL, 'h'},
		{"cached", required_argument, NULL, 'c'},  {"seed", required_argument, NULL, 'r'},
		{"lock", required_argument, NULL, 'l'},    {"bytes", required_argument, NULL, 'b'},
		{"slice", required_argument, NULL, 'i'},   {NULL, 0, NULL, 0},
	};
	struct job_options jobs = {.seed = 1, .headers = 600, .steps = 16, .bytes = 2048};
	struct pool_options pool = {.threads = 2, .slice = 2, .lock = &pool_locks[0]};
	unsigned cached = 550;
	size_t units = 4000;
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (option) {
		case 't':
			pool.threads = number(optarg, 256);
			break;
		case 'j':
			jobs.tokens = number(optarg, 256);
			break;
		case 'u':
			units = number(optarg, 1000000);
			break;
		case 's':
			jobs.steps = number(optarg, 128);
			break;
		case 'b':
			jobs.bytes = number(optarg, MOST_BYTES);
			break;
		case 'i':
			pool.slice = number(optarg, 128);
			break;
		case 'o':
			jobs.scopes = number(optarg, 1024);
			break;
		case 'h':
			jobs.headers = number(optarg, 65536);
			break;
		case 'c':
			cached = number(optarg, 65536);
			break;
		case 'r':
			jobs.seed = number(optarg, -1UL);
			break;
		case 'l':
			pool.lock = pool_lock_find(optarg);
			break;
		default:
			refuse();
		}
	}
	if (optind < argc || !pool.lock || pool.threads == 0 || pool.slice == 0 || units == 0 || jobs.steps == 0 ||
	    jobs.bytes < LEAST_BYTES || jobs.headers == 0)
		refuse();
	if (jobs.tokens == 0)
		jobs.tokens = pool.threads;

	struct graph graph;
	struct rusage used;
	uint64_t lines, sum_of_lines;
	double begin = now();

	arenas_init();
	log_init();
	headers_init(jobs.seed, cached);
	jobs_init(&jobs);
	graph_init(&graph, units, jobs.seed);

	uint64_t locks = pool_run(&graph, &pool);
	uint64_t checksum = graph.program->output;

	graph_destroy(&graph);
	jobs_destroy();
	uint64_t parsed = headers_destroy();

	lines = log_destroy(&sum_of_lines);
	arenas_destroy();

	double elapsed = now() - begin;

	getrusage(RUSAGE_SELF, &used);
	printf("checksum %016" PRIx64 "\n", mix2(mix2(checksum, sum_of_lines), lines));
	printf("jobs %zu\n", graph.count);
	printf("headers parsed %" PRIu64 "\n", parsed);
	printf("locks taken %" PRIu64 "\n", locks);
	printf("seconds %.6f\n", elapsed);
	printf("user seconds %.6f\n", seconds(used.ru_utime));
	printf("system seconds %.6f\n", seconds(used.ru_stime));
	return 0;
}
