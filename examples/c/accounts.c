/* Money moves between accounts, each with a lock of its own: always the lower address first.
 *
 *     cmake -S . -B build && cmake --build build && build/accounts
 *     make && ./accounts
 *
 * `lockwright check -- ./accounts careless` tells that the order is broken, though nothing happens. It would tell,
 * too, if money came from an account that nobody has opened.
 */
#include <lockwright.h>

#include <pthread.h>
#include <stdio.h>
#include <string.h>

struct account {
	lw_mutex_t lock;
	long balance;
};

static struct account savings = {LW_MUTEX_INIT, 1000};
static struct account current = {LW_MUTEX_INIT, 1000};

static const struct lw_object_descr account = LW_OBJECT_DESCR("account");

/* Up when the saver is done: carelessly, both at once might deadlock. */
static lw_semaphore_t saved;

static void move_locked(struct account *from, struct account *to, long amount)
{
	lw_object_assert_init(from, &account);
	lw_object_assert_init(to, &account);
	from->balance -= amount;
	to->balance += amount;
}

static void move_in_order(struct account *from, struct account *to, long amount)
{
	struct account *first = from < to ? from : to;
	struct account *second = from < to ? to : from;

	lw_mutex_lock(&first->lock);
	lw_mutex_lock(&second->lock);
	move_locked(from, to, amount);
	lw_mutex_unlock(&second->lock);
	lw_mutex_unlock(&first->lock);
}

static void move_carelessly(struct account *from, struct account *to, long amount)
{
	lw_mutex_lock(&from->lock);
	lw_mutex_lock(&to->lock);
	move_locked(from, to, amount);
	lw_mutex_unlock(&to->lock);
	lw_mutex_unlock(&from->lock);
}

static void (*move)(struct account *from, struct account *to, long amount) = move_in_order;

static void *save(void *unused)
{
	for (int i = 0; i < 1000; i++)
		move(&current, &savings, 1);
	lw_semaphore_up(&saved);
	return unused;
}

static void *spend(void *unused)
{
	if (move == move_carelessly)
		lw_semaphore_down(&saved);
	for (int i = 0; i < 1000; i++)
		move(&savings, &current, 1);
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t saver, spender;

	if (argc > 1 && strcmp(argv[1], "careless") == 0)
		move = move_carelessly;
	lw_object_init(&savings, &account);
	lw_object_init(&current, &account);
	pthread_create(&saver, NULL, save, NULL);
	pthread_create(&spender, NULL, spend, NULL);
	pthread_join(saver, NULL);
	pthread_join(spender, NULL);
	printf("%ld in all\n", savings.balance + current.balance);
	return 0;
}
