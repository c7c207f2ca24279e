/* THREADS threads, each of which parses a JSON text into a tree of malloc'd values and frees that, for MILLISECONDS.
 * Strings, numbers, arrays and objects are an allocation each, as in the small parsers that programs have. Prints the
 * nanoseconds of processor time that a value takes: its allocations, its parsing, its release. (Whatever else the
 * machine does, processor time is the program's own.)
 *
 *   json THREADS MILLISECONDS
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct value {
	enum { NUMBER, STRING, ARRAY, OBJECT } kind;
	struct value *next;
	char *key;
	union {
		double number;
		char *string;
		struct value *first;
	};
};

static char *text;
static long milliseconds;
static pthread_barrier_t all_are_here;

static void fail(const char *what)
{
	fprintf(stderr, "json: %s\n", what);
	exit(1);
}

static void *some(size_t bytes)
{
	void *p = malloc(bytes);
	if (!p)
		fail("no memory");
	return p;
}

/* --- the text ------------------------------------------------------------------------------------------------ */

static unsigned random_state = 1;

static unsigned below(unsigned n)
{
	random_state = random_state * 1103515245 + 12345;
	return (random_state >> 16) % n;
}

static char *generate(char *at, int depth)
{
	switch (depth ? below(4) : below(2)) {
	case 0:
		return at + sprintf(at, "%u.%u", below(1000), below(100));
	case 1:
		return at + sprintf(at, "\"%0*u\"", (int)(1 + below(40)), below(1000));
	case 2:
		*at++ = '[';
		for (unsigned i = 1 + below(8); i; i--) {
			at = generate(at, depth - 1);
			*at++ = i > 1 ? ',' : ']';
		}
		return at;
	default:
		*at++ = '{';
		for (unsigned i = 1 + below(8); i; i--) {
			at += sprintf(at, "\"key %u\":", i);
			at = generate(at, depth - 1);
			*at++ = i > 1 ? ',' : '}';
		}
		return at;
	}
}

/* --- the parser ---------------------------------------------------------------------------------------------- */

static char *parse_string(const char **at)
{
	const char *begin = ++*at, *end = strchr(begin, '"');
	if (!end)
		fail("no end of a string");
	char *copy = some(end - begin + 1);
	memcpy(copy, begin, end - begin);
	copy[end - begin] = 0;
	*at = end + 1;
	return copy;
}

static struct value *parse(const char **at, long *count)
{
	struct value *value = some(sizeof *value);
	*value = (struct value){ NUMBER, NULL, NULL, { 0 } };
	++*count;
	if (**at == '"') {
		value->kind = STRING;
		value->string = parse_string(at);
	} else if (**at == '[' || **at == '{') {
		char end = **at == '[' ? ']' : '}';
		value->kind = end == ']' ? ARRAY : OBJECT;
		for (struct value **last = &value->first;; last = &(*last)->next) {
			++*at;
			char *key = value->kind == OBJECT ? parse_string(at) : NULL;
			if (key && *(*at)++ != ':')
				fail("no colon");
			*last = parse(at, count);
			(*last)->key = key;
			if (**at != ',')
				break;
		}
		if (*(*at)++ != end)
			fail("no end of an array or object");
	} else {
		char *end;
		value->number = strtod(*at, &end);
		*at = end;
	}
	return value;
}

static void release(struct value *value)
{
	if (value->kind >= ARRAY)
		for (struct value *next, *v = value->first; v; v = next) {
			next = v->next;
			release(v);
		}
	else if (value->kind == STRING)
		free(value->string);
	free(value->key);
	free(value);
}

/* --- threads ------------------------------------------------------------------------------------------------- */

static double now(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

static void *work(void *count)
{
	pthread_barrier_wait(&all_are_here);
	double end = now(CLOCK_MONOTONIC) + milliseconds * 1e6;
	long values = 0;
	do {
		const char *at = text;
		release(parse(&at, &values));
		if (*at)
			fail("more than one value");
	} while (now(CLOCK_MONOTONIC) < end);
	*(long *)count = values;
	return NULL;
}

int main(int argc, char **argv)
{
	int threads = argc == 3 ? atoi(argv[1]) : 0;
	milliseconds = argc == 3 ? atol(argv[2]) : 0;
	if (threads < 1 || threads > 64 || milliseconds < 1)
		fail("usage: json THREADS MILLISECONDS");
	/* 200 elements of at most 8^3 leaves, which take less than 128 bytes with their keys and brackets. */
	char *at = text = some(200 * 512 * 128);
	*at++ = '[';
	for (int i = 0; i < 200; i++) {
		at = generate(at, 3);
		*at++ = i < 199 ? ',' : ']';
	}
	*at = 0;

	pthread_t ids[64];
	long counts[64], values = 0;
	double begin = now(CLOCK_PROCESS_CPUTIME_ID);
	pthread_barrier_init(&all_are_here, NULL, threads);
	for (int i = 0; i < threads; i++)
		if (pthread_create(&ids[i], NULL, work, &counts[i]))
			fail("no thread");
	for (int i = 0; i < threads; i++) {
		pthread_join(ids[i], NULL);
		values += counts[i];
	}
	double took = now(CLOCK_PROCESS_CPUTIME_ID) - begin;
	pthread_barrier_destroy(&all_are_here);
	free(text);
	printf("%f\n", took / values);
	return 0;
}
