/* GLib's bit locks, used rightly and wrongly: what is done is named by the argument.
 *
 *   bits      two words are locked in both orders
 *   one_word  the same of two bits of one word
 *   pointers  the same of two pointers
 *   heap      the same of a word of the heap and another
 *   ordered   all in one order; against it they are only tried for
 *   freed     as heap, but it is another object by then, at the same address
 *   sliced    as freed, with memory of g_slice_new
 *   chained   as sliced, given back by g_slice_free_chain
 *   let_go    as freed, and the first is freed with its lock held, which lets go of it
 *   handed    what one thread locks the other unlocks
 *   frame     a word in a frame
 *   hang      two threads each hold a bit, and wait for the other's
 *   contended a thread waits for a bit that another holds
 */
#include <glib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "asleep.h"
#include "glib_turns.h"

static gint first;
static gint second;
static gint flags;
static gpointer head;
static gpointer tail;

/* Bits. */
enum { LOCK = 0, OTHER = 10, SIGN = 31 };

static void first_then_second(void)
{
	g_bit_lock(&first, LOCK);
	g_bit_lock(&second, LOCK);
	g_bit_unlock(&second, LOCK);
	g_bit_unlock(&first, LOCK);
}

static void second_then_first(void)
{
	g_bit_lock(&second, LOCK);
	g_bit_lock(&first, LOCK);
	g_bit_unlock(&first, LOCK);
	g_bit_unlock(&second, LOCK);
}

static void other_then_sign(void)
{
	g_bit_lock(&flags, OTHER);
	g_bit_lock(&flags, SIGN);
	g_bit_unlock(&flags, SIGN);
	g_bit_unlock(&flags, OTHER);
}

static void sign_then_other(void)
{
	g_bit_lock(&flags, SIGN);
	g_bit_lock(&flags, OTHER);
	g_bit_unlock(&flags, OTHER);
	g_bit_unlock(&flags, SIGN);
}

static void head_then_tail(void)
{
	g_pointer_bit_lock(&head, LOCK);
	g_pointer_bit_lock(&tail, LOCK);
	g_pointer_bit_unlock(&tail, LOCK);
	g_pointer_bit_unlock(&head, LOCK);
}

static void tail_then_head(void)
{
	g_pointer_bit_lock(&tail, LOCK);
	g_pointer_bit_lock(&head, LOCK);
	g_pointer_bit_unlock(&head, LOCK);
	g_pointer_bit_unlock(&tail, LOCK);
}

/* What is tried for waits for nobody. */
static void try_out(void)
{
	g_bit_lock(&second, LOCK);
	if (g_bit_trylock(&first, LOCK))
		g_bit_unlock(&first, LOCK);
	g_bit_unlock(&second, LOCK);
	g_pointer_bit_lock(&tail, LOCK);
	if (g_pointer_bit_trylock(&head, LOCK))
		g_pointer_bit_unlock(&head, LOCK);
	g_pointer_bit_unlock(&tail, LOCK);
}

/* Its count has a lock in it. */
struct object {
	struct object *next;
	gint count;
};

static struct object *object;

static void object_then_first(void)
{
	g_bit_lock(&object->count, LOCK);
	g_bit_lock(&first, LOCK);
	g_bit_unlock(&first, LOCK);
	g_bit_unlock(&object->count, LOCK);
}

static void first_then_object(void)
{
	g_bit_lock(&first, LOCK);
	g_bit_lock(&object->count, LOCK);
	g_bit_unlock(&object->count, LOCK);
	g_bit_unlock(&first, LOCK);
}

/* The last reference: nobody can want the lock. */
static void let_go(void)
{
	object_then_first();
	g_bit_lock(&object->count, LOCK);
	free(object);
	g_bit_lock(&first, LOCK);
	g_bit_unlock(&first, LOCK);
}

static void nothing(void)
{
}

static struct object *new_object(void)
{
	return memset(malloc(sizeof(struct object)), 0, sizeof(struct object));
}

static struct object *new_slice(void)
{
	return g_slice_new0(struct object);
}

static void free_slice(void *memory)
{
	g_slice_free(struct object, memory);
}

static void free_chain(void *memory)
{
	g_slice_free_chain(struct object, (struct object *)memory, next);
}

/* One that lies where the last one lay. */
static int comes_next(struct object *(*making)(void), struct object *last)
{
	for (int i = 0; i < 10000 && object != last; i++)
		object = making();
	return object == last ? 0 : 3;
}

static struct object *(*make)(void);
static void (*end)(void *);
static int is_elsewhere;

static void end_then_first_then_next(void)
{
	struct object *last = object;

	end(last);
	object = NULL;
	is_elsewhere = comes_next(make, last);
	first_then_object();
}

static int in_turn(struct object *(*making)(void), void (*ending)(void *))
{
	make = making;
	end = ending;
	object = make();
	run(object_then_first, end_then_first_then_next);
	end(object);
	return is_elsewhere;
}

static int in_turn_let_go(void)
{
	struct object *last = object = new_object();

	run(let_go, nothing);
	object = NULL;
	if (comes_next(new_object, last))
		return 3;
	run(nothing, first_then_object);
	free(object);
	return 0;
}

static void lock_first(void)
{
	g_bit_lock(&first, LOCK);
}

static void unlock_first(void)
{
	g_bit_unlock(&first, LOCK);
}

static void second_alone(void)
{
	g_bit_lock(&second, LOCK);
	g_bit_unlock(&second, LOCK);
}

/* The thread that locks it goes on when the other has unlocked it. */
static void lock_and_hand_over(void)
{
	lock_first();
	g_atomic_int_inc(&turn);
	while (g_atomic_int_get(&turn) < 2)
		g_thread_yield();
	second_alone();
	g_atomic_int_inc(&turn);
}

static void take_over(void)
{
	unlock_first();
	g_atomic_int_inc(&turn);
	while (g_atomic_int_get(&turn) < 3)
		g_thread_yield();
	second_then_first();
}

static void frame(void)
{
	gint word = 0;

	g_bit_lock(&word, LOCK);
	g_bit_lock(&first, LOCK);
	g_bit_unlock(&first, LOCK);
	g_bit_unlock(&word, LOCK);
}

static int here;

static void meet(void)
{
	g_atomic_int_inc(&here);
	while (g_atomic_int_get(&here) < 2)
		g_thread_yield();
}

static gpointer hang_one(gpointer unused)
{
	g_bit_lock(&first, LOCK);
	meet();
	g_bit_lock(&second, LOCK);
	return unused;
}

static gpointer hang_other(gpointer unused)
{
	g_bit_lock(&second, LOCK);
	meet();
	g_bit_lock(&first, LOCK);
	return unused;
}

/* A thread holds the bit until another waits for it. */
static atomic_int wanting;

static gpointer keeper(gpointer unused)
{
	g_pointer_bit_lock(&head, LOCK);
	meet();
	await_blocked(&wanting);
	g_pointer_bit_unlock(&head, LOCK);
	return unused;
}

static void want(void)
{
	meet();
	atomic_store(&wanting, thread_id());
	g_pointer_bit_lock(&head, LOCK);
	g_pointer_bit_unlock(&head, LOCK);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	int result = 0;

	if (!strcmp(what, "bits")) {
		run(first_then_second, second_then_first);
	} else if (!strcmp(what, "one_word")) {
		run(other_then_sign, sign_then_other);
	} else if (!strcmp(what, "pointers")) {
		run(head_then_tail, tail_then_head);
	} else if (!strcmp(what, "heap")) {
		object = new_object();
		run(object_then_first, first_then_object);
		free(object);
	} else if (!strcmp(what, "ordered")) {
		run(first_then_second, first_then_second);
		run(other_then_sign, other_then_sign);
		run(head_then_tail, head_then_tail);
		run(try_out, try_out);
	} else if (!strcmp(what, "freed")) {
		result = in_turn(new_object, free);
	} else if (!strcmp(what, "sliced")) {
		result = in_turn(new_slice, free_slice);
	} else if (!strcmp(what, "chained")) {
		result = in_turn(new_slice, free_chain);
	} else if (!strcmp(what, "let_go")) {
		result = in_turn_let_go();
	} else if (!strcmp(what, "handed")) {
		run(lock_and_hand_over, take_over);
	} else if (!strcmp(what, "frame")) {
		run(frame, frame);
	} else if (!strcmp(what, "hang")) {
		GThread *one = g_thread_new("one", hang_one, NULL);
		GThread *other = g_thread_new("other", hang_other, NULL);

		g_thread_join(one);
		g_thread_join(other);
	} else if (!strcmp(what, "contended")) {
		GThread *one = g_thread_new("keeper", keeper, NULL);

		want();
		g_thread_join(one);
	} else {
		fprintf(stderr, "what?\n");
		return 2;
	}
	printf("%s: done\n", what);
	return result;
}
