/* What the workers say: lines under a spinlock, of which the last are kept. */
#ifndef LOG_H
#define LOG_H

#include <stdint.h>

void log_init(void);
/* Returns the number of lines, and in `sum` a checksum of all of them that does not depend on their order. */
uint64_t log_destroy(uint64_t *sum);
void log_line(const char *what, uint32_t node, uint64_t value);

#endif
