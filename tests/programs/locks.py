"""Python's locks, in both orders, and what careful programs do with what is made of them.

    locks.py abba       two locks in both orders, by two threads, one after the other
    locks.py deadlock   both threads hold one and wait for the other's
    locks.py in-order   two locks in one order, contended, also without waiting and with a timeout
    locks.py queue      a producer, a consumer and a bounded queue
    locks.py condition  threads that wait until all are there
    locks.py pool       an executor's workers
    locks.py handed     a lock that another thread releases
    locks.py timer      threads that start and end later
    locks.py recursive  a lock taken again by its thread
"""
import concurrent.futures
import queue
import sys
import threading
import time

ROUNDS = 100
a, b = threading.Lock(), threading.Lock()


def in_threads(*targets):
    threads = [threading.Thread(target=target) for target in targets]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def wait_for_one():
    """Has a thread wait for a lock. CPython tries for its locks first: that it waits where that fails is not seen
    before one has been contended, which at a thread's start is a matter of luck."""
    lock = threading.Lock()

    def asleep(thread):
        with open(f"/proc/self/task/{thread.native_id}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] == "S"

    def take():
        with lock:
            pass

    with lock:
        waiter = threading.Thread(target=take)
        waiter.start()
        looks = 0
        while looks < 20:
            looks = looks + 1 if waiter.native_id and asleep(waiter) else 0
            time.sleep(0.001)
    waiter.join()


def abba():
    first_done, second_done = [], []
    wait_for_one()

    # No event, which would order the two: they look at what they share.
    def first():
        with a:
            with b:
                pass
        first_done.append(True)
        while not second_done:
            time.sleep(0.001)

    def second():
        while not first_done:
            time.sleep(0.001)
        with b:
            with a:
                pass
        second_done.append(True)

    in_threads(first, second)


def deadlock():
    both_hold = threading.Barrier(2)

    def take(mine, other):
        with mine:
            both_hold.wait()
            with other:
                print("not reached")

    in_threads(lambda: take(a, b), lambda: take(b, a))


def in_order():
    def take():
        for _ in range(ROUNDS):
            with a:
                with b:
                    pass
            if b.acquire(False):
                b.release()
            if b.acquire(timeout=0.001):
                b.release()

    in_threads(take, take, take)


def through_queue():
    jobs, done = queue.Queue(maxsize=1), []

    def produce():
        for i in range(ROUNDS):
            jobs.put(i)
        jobs.put(None)

    def consume():
        while (job := jobs.get()) is not None:
            done.append(job)
            jobs.task_done()
        jobs.task_done()

    in_threads(produce, consume)
    jobs.join()
    assert done == list(range(ROUNDS))


def condition():
    there, all_there = 0, threading.Condition()

    def arrive():
        nonlocal there
        with all_there:
            there += 1
            all_there.notify_all()
            all_there.wait_for(lambda: there == 8)

    in_threads(*[arrive] * 8)


def pool():
    with concurrent.futures.ThreadPoolExecutor(4) as workers:
        assert sum(workers.map(lambda x: x, range(ROUNDS))) == ROUNDS * (ROUNDS - 1) // 2
    seats, one, together = threading.Semaphore(2), threading.BoundedSemaphore(1), threading.Barrier(4)

    def work():
        together.wait()
        for _ in range(ROUNDS):
            with seats, one:
                pass

    in_threads(*[work] * 4)


def handed():
    for _ in range(ROUNDS):
        a.acquire()
        thread = threading.Thread(target=a.release)
        thread.start()
        # Whose turn it is to hold b, a says: no order of locks.
        with b:
            a.acquire()
            a.release()
        thread.join()


def timer():
    timers = [threading.Timer(0.001 * i, lambda: None) for i in range(8)]
    for t in timers:
        t.start()
    for t in timers:
        t.join()
    threading.Thread(target=time.sleep, args=(60,), daemon=True).start()


def recursive():
    lock = threading.RLock()

    def take():
        for _ in range(ROUNDS):
            with lock, b, lock:
                pass

    in_threads(take, take)


{
    "abba": abba,
    "deadlock": deadlock,
    "in-order": in_order,
    "queue": through_queue,
    "condition": condition,
    "pool": pool,
    "handed": handed,
    "timer": timer,
    "recursive": recursive,
}[sys.argv[1]]()
print("the end")
