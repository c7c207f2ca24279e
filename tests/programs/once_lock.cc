// pthread_once has whoever calls it wait while another thread runs the routine. Two threads call it, one after the other,
// by turns that no tool sees. The second calls with a mutex held.
//
//   inverted  the routine takes the mutex
//   fixed     as inverted, but the second thread calls before it takes the mutex, and then once more
//   first     as inverted, but the routine runs before there is a second thread
//   other     the routine takes another mutex
//   c11       as inverted, with C11's call_once
//   throws    the first call's routine is left by an exception; the mutex is taken then
//   ends      the first call's routine ends its thread
//   left      as throws, but the routine takes the mutex
//   heap      as inverted, with a std::once_flag on the heap
//   heap_fixed  as fixed, with such a one
//   crowded   as heap_fixed, and the second thread takes 16,384 other mutexes between its two calls
//   reused    the routine of one such flag takes the mutex; then its memory is freed, and the second thread calls with
//             another in the same place
//   stack     as inverted, with a control in main's frame
//   tasks     a thread runs std::packaged_tasks with the mutex held; others take it
//   many      as tasks, ten thousand of them
//   hangs     as inverted, and both meet: the second thread calls while the routine is on its way to the mutex
//   routines  the routines of two controls each call the other's, and meet
//   itself    a routine calls for its own control
#include <atomic>
#include <cstdio>
#include <cstring>
#include <future>
#include <mutex>
#include <new>
#include <pthread.h>
#include <sched.h>
#include <threads.h>

typedef std::atomic<int> baton;

static void baton_pass(baton *b)
{
	++*b;
}

static void baton_take(baton *b)
{
	while (!*b)
		sched_yield();
	--*b;
}

static pthread_mutex_t registry = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t cache = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t control = PTHREAD_ONCE_INIT, other_control = PTHREAD_ONCE_INIT;
static once_flag c11_control = ONCE_FLAG_INIT;
static std::once_flag *flag;
static pthread_once_t *local;
static baton runs, other_runs, go, held;
static const char *how;

static bool is(const char *what)
{
	return !strcmp(how, what);
}

static void initialises()
{
	if (is("hangs")) {
		baton_pass(&runs);
		baton_take(&go);
	}
	pthread_mutex_lock(&registry);
	pthread_mutex_unlock(&registry);
}

static void fills_cache()
{
	pthread_mutex_lock(&cache);
	pthread_mutex_unlock(&cache);
}

static void does_nothing()
{
}

static void throws()
{
	if (is("left"))
		initialises();
	throw 1;
}

static void ends()
{
	pthread_exit(nullptr);
}

static void calls_itself()
{
	pthread_once(&control, calls_itself);
}

static void other_routine();

static void one_routine()
{
	baton_pass(&runs);
	baton_take(&other_runs);
	pthread_once(&other_control, other_routine);
}

static void other_routine()
{
	baton_pass(&other_runs);
	baton_take(&runs);
	pthread_once(&control, one_routine);
}

static bool is_heap()
{
	return is("heap") || is("heap_fixed") || is("crowded") || is("reused");
}

/* A task that takes the mutex, or one that takes another. */
static void run_task(bool takes)
{
	std::packaged_task<void()> task(takes ? initialises : fills_cache);
	task();
}

static void run_tasks(bool with_lock)
{
	for (int i = 0; i < (is("many") ? 5000 : 1); i++) {
		if (with_lock)
			pthread_mutex_lock(&registry);
		run_task(!with_lock);
		if (with_lock)
			pthread_mutex_unlock(&registry);
	}
}

static void *first(void *unused)
{
	if (is_heap()) {
		std::call_once(*flag, initialises);
		if (is("reused")) {
			flag->~once_flag();
			new (flag) std::once_flag;
		}
	} else if (is("stack"))
		pthread_once(local, initialises);
	else if (is("tasks") || is("many"))
		run_tasks(false);
	else if (is("c11"))
		call_once(&c11_control, initialises);
	else if (is("ends"))
		pthread_once(&control, ends);
	else if (is("itself"))
		pthread_once(&control, calls_itself);
	else if (is("routines"))
		pthread_once(&control, one_routine);
	else if (is("throws") || is("left"))
		try {
			pthread_once(&control, throws);
		} catch (int) {
			puts("caught");
			if (is("throws"))
				initialises();
		}
	else
		pthread_once(&control, is("other") ? fills_cache : initialises);
	return unused;
}

static void takes_others()
{
	static std::mutex others[16384];

	for (std::mutex &other : others)
		std::lock_guard<std::mutex> guard(other);
}

static void *second(void *unused)
{
	bool left = is("throws") || is("ends") || is("left");

	if (is("routines")) {
		pthread_once(&other_control, other_routine);
		return unused;
	}
	baton_take(&held);
	if (is("tasks") || is("many")) {
		run_tasks(true);
		return unused;
	}
	if (is("heap_fixed") || is("crowded"))
		std::call_once(*flag, initialises);
	if (is("crowded"))
		takes_others();
	if (is("fixed"))
		pthread_once(&control, initialises);
	pthread_mutex_lock(&registry);
	if (is("hangs"))
		baton_pass(&go);
	if (is_heap())
		std::call_once(*flag, fills_cache);
	else if (is("stack"))
		pthread_once(local, initialises);
	else if (is("c11"))
		call_once(&c11_control, initialises);
	else
		pthread_once(&control, left ? does_nothing : initialises);
	pthread_mutex_unlock(&registry);
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t one, two;
	pthread_once_t here = PTHREAD_ONCE_INIT;

	flag = new std::once_flag;
	local = &here;
	how = argc > 1 ? argv[1] : "";
	if (is("itself"))
		first(nullptr);
	if (is("first")) {
		first(nullptr);
		pthread_create(&two, nullptr, second, nullptr);
	} else {
		pthread_create(&two, nullptr, second, nullptr);
		pthread_create(&one, nullptr, first, nullptr);
		if (is("hangs"))
			baton_take(&runs);
		else
			pthread_join(one, nullptr);
	}
	baton_pass(&held);
	pthread_join(two, nullptr);
	delete flag;
	puts("the end");
	return 0;
}
