/* The machine that the library runs on: its CPUs are threads. */
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { CPUS = 4 };

void boot(void);
void run_cpu(void);
bool is_right(uint32_t cpus);

static __thread uint32_t number;

uint32_t this_cpu(void)
{
	return number;
}

uint64_t clock_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

void pause_cpu(void)
{
	sched_yield();
}

void halt(void)
{
	abort();
}

/* Rust's precompiled core names it. Nothing is unwound here. */
void rust_eh_personality(void)
{
}

static void *cpu(void *arg)
{
	number = (uint32_t)(uintptr_t)arg;
	run_cpu();
	return NULL;
}

int main(void)
{
	pthread_t cpus[CPUS];

	boot();
	for (uintptr_t i = 0; i < CPUS; i++)
		pthread_create(&cpus[i], NULL, cpu, (void *)i);
	for (int i = 0; i < CPUS; i++)
		pthread_join(cpus[i], NULL);
	puts(is_right(CPUS) ? "right" : "wrong");
	return !is_right(CPUS);
}
