/* Numbers that depend on a seed alone: the same in every run, whatever thread asks. */
#ifndef RANDOM_H
#define RANDOM_H

#include <stdint.h>

/* Spreads every bit of x over all of the result; x itself may be a count. */
static inline uint64_t mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15;
	x = (x ^ x >> 32) * 0xd6e8feb86659fd93;
	x = (x ^ x >> 29) * 0xd6e8feb86659fd93;
	return x ^ x >> 32;
}

static inline uint64_t mix2(uint64_t a, uint64_t b)
{
	return mix(mix(a) ^ b);
}

#endif
