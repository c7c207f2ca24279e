/* Locks that are members of static structures and elements of arrays, in pairs that are taken in
   both orders. */
#include "members.h"

struct account {
	long number;
	pthread_mutex_t lock;
};

static struct {
	pthread_mutex_t mtx1;
	int count;
	union {
		struct {
			const pthread_mutex_t *unused;
			pthread_mutex_t mtx2;
		};
		long raw[12];
	};
	pthread_cond_t changed;
} data;

static struct account accounts[5];
static pthread_mutex_t grid[2][3];
static struct {
	struct {
		struct account special[2];
	} inner;
} bank;

static void pair(int reversed, pthread_mutex_t *a, pthread_mutex_t *b)
{
	if (reversed)
		nest(b, a);
	else
		nest(a, b);
}

static void take_pairs(int reversed)
{
	pair(reversed, &data.mtx1, &data.mtx2);
	pair(reversed, &accounts[3].lock, &grid[1][2]);
	pair(reversed, &bank.inner.special[0].lock, &bank.inner.special[1].lock);
}
