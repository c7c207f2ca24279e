/* OpenMP's locks and sections, used rightly and wrongly: what is done is named by the argument. Two threads take turns by
 * what says nothing of an order.
 */
#include <omp.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

static omp_lock_t first, second;
static omp_nest_lock_t nested;
static atomic_int turn;
static int sum;

static void left_then_right(void)
{
#pragma omp critical(left)
	{
#pragma omp critical(right)
		sum++;
	}
}

static void right_then_left(void)
{
#pragma omp critical(right)
	{
#pragma omp critical(left)
		sum++;
	}
}

static void first_then_second(void)
{
	omp_set_lock(&first);
	omp_set_lock(&second);
	sum++;
	omp_unset_lock(&second);
	omp_unset_lock(&first);
}

static void second_then_first(void)
{
	omp_set_lock(&second);
	omp_set_lock(&first);
	sum++;
	omp_unset_lock(&first);
	omp_unset_lock(&second);
}

/* What is tried for waits for nobody. */
static void try_first(void)
{
	omp_set_lock(&second);
	if (omp_test_lock(&first)) {
		sum++;
		omp_unset_lock(&first);
	}
	omp_unset_lock(&second);
}

static void nest_then_section(void)
{
	omp_set_nest_lock(&nested);
	omp_set_nest_lock(&nested);
#pragma omp critical
	sum++;
	omp_unset_nest_lock(&nested);
	omp_unset_nest_lock(&nested);
}

static void section_then_nest(void)
{
#pragma omp critical
	{
		omp_set_nest_lock(&nested);
		sum++;
		omp_unset_nest_lock(&nested);
	}
}

static void run(void (*one)(void), void (*other)(void))
{
	atomic_store(&turn, 0);
#pragma omp parallel num_threads(2)
	{
		int me = omp_get_thread_num();

		while (atomic_load(&turn) != me)
			;
		(me ? other : one)();
		atomic_fetch_add(&turn, 1);
	}
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	omp_init_lock(&first);
	omp_init_lock(&second);
	omp_init_nest_lock(&nested);
	if (!strcmp(what, "sections")) {
		run(left_then_right, right_then_left);
	} else if (!strcmp(what, "locks")) {
		run(first_then_second, second_then_first);
	} else if (!strcmp(what, "nested")) {
		run(nest_then_section, section_then_nest);
	} else if (!strcmp(what, "ordered")) {
		run(left_then_right, left_then_right);
		run(first_then_second, first_then_second);
		run(first_then_second, try_first);
		run(nest_then_section, nest_then_section);
	} else {
		fprintf(stderr, "what?\n");
		return 2;
	}
	omp_destroy_lock(&first);
	omp_destroy_lock(&second);
	omp_destroy_nest_lock(&nested);
	printf("%s: %d\n", what, sum);
	return 0;
}
