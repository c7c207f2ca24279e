#include "log.h"

#include <stdio.h>
#include <string.h>

#include "count.h"
#include "random.h"

enum { KEPT = 1024 };

static pthread_spinlock_t lock;

/* All of these are protected by the lock. */
static struct line {
	char what[8];
	uint32_t node;
	uint64_t value;
} lines[KEPT];
static uint64_t written, sum_of_lines;

void log_init(void)
{
	pthread_spin_init(&lock, PTHREAD_PROCESS_PRIVATE);
}

uint64_t log_destroy(uint64_t *sum)
{
	pthread_spin_destroy(&lock);
	*sum = sum_of_lines;
	return written;
}

void log_line(const char *what, uint32_t node, uint64_t value)
{
	uint64_t hash = mix2(node, value);

	pairs++;
	pthread_spin_lock(&lock);
	struct line *line = &lines[written++ % KEPT];

	strncpy(line->what, what, sizeof(line->what) - 1);
	line->node = node;
	line->value = value;
	sum_of_lines += hash;
	pthread_spin_unlock(&lock);
}
