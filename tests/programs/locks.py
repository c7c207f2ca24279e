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
    locks.py recursive-abba  two of those in both orders
    locks.py levels     a condition's wait gives up a lock that its thread has twice
    locks.py tries      each way to take a lock without waiting, or for some time
    locks.py reborn     locks that come and go, where others were
    locks.py forked     a lock that another thread has while the process forks
"""
import concurrent.futures
import logging
import os
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


def abba(a=a, b=b):
    first_done, second_done = [], []

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


def recursive_abba():
    abba(threading.RLock(), threading.RLock())


def levels():
    changed, turns = threading.Condition(), []

    def take(me):
        for _ in range(ROUNDS // 10):
            with changed:
                with changed:
                    if turns and turns[-1] == me:
                        changed.wait(0.01)
                    turns.append(me)
                    changed.notify()
        # It is held no more.
        with a:
            with changed:
                pass

    in_threads(lambda: take(1), lambda: take(2))


def tries():
    def take():
        for _ in range(ROUNDS // 10):
            for taken in [
                lambda lock: lock.acquire(False),
                lambda lock: lock.acquire(0),
                lambda lock: lock.acquire(blocking=False),
                lambda lock: lock.acquire(blocking=0, timeout=-1),
                lambda lock: lock.acquire(True, 0),
                lambda lock: lock.acquire(timeout=0),
            ]:
                # In both orders, and no try waits for good.
                for one, other in (a, b), (b, a):
                    if taken(one):
                        if taken(other):
                            other.release()
                        one.release()

    in_threads(take, take)
    for wrong in [lambda: a.acquire(False, 1), lambda: a.acquire(timeout=-2), a.release]:
        try:
            wrong()
        except (ValueError, RuntimeError):
            continue
        print("not refused")


def reborn():
    def take():
        for _ in range(ROUNDS * 10):
            first = threading.Lock()
            with a, first:
                pass
            del first
            # Where that was, as a rule.
            second = threading.Lock()
            with second, b:
                pass
            del second
            third = threading.Lock()
            with b, third:
                pass
            del third

    in_threads(take, take)


def forked():
    taken, done = threading.Event(), threading.Event()
    handler = logging.StreamHandler()

    def have():
        handler.acquire()
        taken.set()
        done.wait()
        handler.release()

    thread = threading.Thread(target=have)
    thread.start()
    taken.wait()
    child = os.fork()
    if child == 0:
        # Another thread of the parent has it, and logging makes it free again.
        with handler.lock:
            pass
        with a:
            with b:
                pass
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    done.set()
    thread.join()
    for _ in range(ROUNDS):
        with handler.lock:
            pass


{
    "abba": abba,
    "recursive-abba": recursive_abba,
    "levels": levels,
    "tries": tries,
    "reborn": reborn,
    "forked": forked,
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
