/* Two locks in both orders, by two threads that take turns: locks that a library makes itself, of which one is chosen
 * where this is compiled.
 *
 *   -DTBB      tbb::mutex
 *   -DOPENMP   omp_lock_t, and critical sections
 *   -DABSEIL   absl::Mutex
 *   -DQT       QMutex
 *   -DSTD      std::mutex, which is seen
 *
 * With -DTELLS the program says of each lock what happens to it. If there is an argument, it says its process id, and
 * waits for a signal.
 */
#include <atomic>
#include <cstdio>
#include <lockwright.h>
#include <thread>
#include <unistd.h>

#if defined(TBB)
#include <oneapi/tbb/mutex.h>
using Lock = tbb::mutex;
#elif defined(OPENMP)
#include <omp.h>
class Lock {
	omp_lock_t mine;

public:
	Lock() { omp_init_lock(&mine); }
	~Lock() { omp_destroy_lock(&mine); }
	void lock() { omp_set_lock(&mine); }
	void unlock() { omp_unset_lock(&mine); }
};
#elif defined(ABSEIL)
#include <absl/synchronization/mutex.h>
class Lock {
	absl::Mutex mine;

public:
	void lock() { mine.Lock(); }
	void unlock() { mine.Unlock(); }
};
#elif defined(QT)
#include <QMutex>
using Lock = QMutex;
#else
#include <mutex>
using Lock = std::mutex;
#endif

namespace {

class Told {
	Lock mine;

public:
	void lock()
	{
#ifdef TELLS
		lw_acquire(this, LW_EXCLUSIVE);
#endif
		mine.lock();
#ifdef TELLS
		lw_acquired(this);
#endif
	}

	void unlock()
	{
#ifdef TELLS
		lw_release(this);
#endif
		mine.unlock();
	}
};

Told first, second;
std::atomic<bool> turn;
int sum;

void critical()
{
#ifdef OPENMP
#pragma omp critical(left)
#pragma omp critical(right)
#endif
	sum++;
}

void both(Told &outer, Told &inner)
{
	for (int i = 0; i < 100; i++) {
		outer.lock();
		inner.lock();
		critical();
		inner.unlock();
		outer.unlock();
	}
}

} // namespace

int main(int argc, char **)
{
#ifdef ABSEIL
	/* It would find the cycle itself, and end the program. */
	absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
#endif
	if (argc > 1) {
		printf("%d\n", getpid());
		fflush(stdout);
		pause();
	}
	std::thread one([] {
		both(first, second);
		turn = true;
	});
	std::thread other([] {
		while (!turn)
			std::this_thread::yield();
		both(second, first);
	});
	one.join();
	other.join();
	printf("%d\n", sum);
	return 0;
}
