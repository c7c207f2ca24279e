/* Qt's locks, used rightly and wrongly: what is done is named by the argument. Two threads take turns by what says nothing
 * of an order.
 */
#include <QMutex>
#include <QReadWriteLock>
#include <QWaitCondition>
#include <cstdio>
#include <cstring>

#include "lock_turns.h"

namespace {

QMutex first, second;
QRecursiveMutex again;
QReadWriteLock table;
QWaitCondition changed;
bool is_changed;

void first_then_second()
{
	QMutexLocker a(&first);
	QMutexLocker b(&second);
}

void second_then_first()
{
	second.lock();
	first.lock();
	first.unlock();
	second.unlock();
}

void again_then_table()
{
	again.lock();
	again.lock();
	QWriteLocker b(&table);
	again.unlock();
	again.unlock();
}

void table_then_again()
{
	QReadLocker a(&table);
	again.lock();
	again.unlock();
}

void try_first()
{
	QMutexLocker b(&second);
	if (first.tryLock())
		first.unlock();
}

void wait_then_second()
{
	QMutexLocker a(&first);
	is_here = true;
	while (!is_changed)
		changed.wait(&first);
	QMutexLocker b(&second);
}

void change()
{
	QMutexLocker a(&first);
	is_changed = true;
	changed.wakeAll();
}

/* Made and gone again, at one and the same place most often. */
void make()
{
	for (int i = 0; i < 10; i++) {
		QMutex mine;
		QMutexLocker held(&mine);
		QMutexLocker inner(&first);
	}
}

} // namespace

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (!strcmp(what, "mutexes")) {
		run(first_then_second, second_then_first);
	} else if (!strcmp(what, "table")) {
		run(again_then_table, table_then_again);
	} else if (!strcmp(what, "ordered")) {
		run(first_then_second, first_then_second);
		run(first_then_second, try_first);
		run(again_then_table, again_then_table);
		run(change, wait_then_second);
		run(make, make);
	} else if (!strcmp(what, "waits")) {
		run_waiter(wait_then_second, change, second_then_first);
	} else {
		fprintf(stderr, "what?\n");
		return 2;
	}
	printf("%s: done\n", what);
	return 0;
}
