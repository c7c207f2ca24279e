"""Does one thing with ITEMS items, and prints what an item took: nanoseconds by the clock, and of processor time, and page faults.

    births.py queue ITEMS     two threads put them into a queue, two take them off
    births.py futures ITEMS   four threads have one result each of them
    births.py waits ITEMS     a condition is waited for that is not signalled: the wait makes a lock of its own

A tenth as many come first and are not timed.
"""

import concurrent.futures
import queue
import resource
import sys
import threading
import time


def by_queue(items):
    between = queue.Queue(64)

    def put():
        for item in range(items // 2):
            between.put(item)

    def get():
        for _ in range(items // 2):
            between.get()

    threads = [threading.Thread(target=work) for work in (put, get, put, get)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def by_futures(items):
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        sum(pool.map(lambda item: item * item, range(items)))


def by_waits(items):
    condition = threading.Condition()
    for _ in range(items):
        with condition:
            condition.wait(0)


def faults():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_minflt + usage.ru_majflt


items = int(sys.argv[2])
act = {"queue": by_queue, "futures": by_futures, "waits": by_waits}[sys.argv[1]]
act(items // 10 + 4)
faulted = faults()
clock, processor = time.perf_counter_ns(), time.process_time_ns()
act(items)
took = time.perf_counter_ns() - clock, time.process_time_ns() - processor, faults() - faulted
print(*(value / items for value in took))
