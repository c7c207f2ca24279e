/* Abseil's mutexes, used rightly and wrongly: what is done is named by the argument. Two threads take turns by what says
 * nothing of an order.
 */
#include <absl/synchronization/mutex.h>
#include <cstdio>
#include <cstring>

#include "lock_turns.h"

namespace {

absl::Mutex first(absl::kConstInit), second(absl::kConstInit);
absl::CondVar changed;
bool is_changed;

void first_then_second()
{
	absl::MutexLock a(&first);
	absl::MutexLock b(&second);
}

void second_then_first()
{
	second.Lock();
	first.Lock();
	first.Unlock();
	second.Unlock();
}

void read_second_then_first()
{
	absl::ReaderMutexLock b(&second);
	absl::WriterMutexLock a(&first);
}

/* Given up before the guard goes. */
void release_second()
{
	absl::ReleasableMutexLock b(&second);
	b.Release();
	absl::MutexLock a(&first);
}

void try_first()
{
	absl::MutexLock b(&second);
	if (first.TryLock())
		first.Unlock();
}

void wait_then_second()
{
	absl::MutexLock a(&first);
	is_here = true;
	while (!is_changed)
		changed.WaitWithTimeout(&first, absl::Seconds(60));
	absl::MutexLock b(&second);
}

void change()
{
	absl::MutexLock a(&first);
	is_changed = true;
	changed.SignalAll();
}

void await_then_second()
{
	is_here = true;
	first.LockWhen(absl::Condition(&is_changed));
	first.Await(absl::Condition(&is_changed));
	first.AwaitWithTimeout(absl::Condition(&is_changed), absl::Seconds(60));
	second.Lock();
	second.Unlock();
	first.Unlock();
}

/* Made and gone again, at one and the same place most often. */
void make(int n)
{
	for (int i = 0; i < n; i++) {
		absl::Mutex mine;
		absl::MutexLock held(&mine);
		absl::MutexLock inner(&first);
	}
	absl::MutexLock outer(&first);
	absl::Mutex other;
	absl::MutexLock held(&other);
}

} // namespace

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	/* It would find the cycle itself, and end the program. */
	absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
	if (!strcmp(what, "mutexes")) {
		run(first_then_second, second_then_first);
	} else if (!strcmp(what, "readers")) {
		run(first_then_second, read_second_then_first);
	} else if (!strcmp(what, "ordered")) {
		run(first_then_second, first_then_second);
		run(first_then_second, try_first);
		run(release_second, release_second);
		run(change, wait_then_second);
		run([] { make(10); }, [] { make(10); });
	} else if (!strcmp(what, "cond")) {
		run_waiter(wait_then_second, change, second_then_first);
	} else if (!strcmp(what, "await")) {
		run_waiter(await_then_second, change, second_then_first);
	} else {
		fprintf(stderr, "what?\n");
		return 2;
	}
	printf("%s: done\n", what);
	return 0;
}
