"""Does one thing with ITEMS items, and prints what an item took: nanoseconds by the clock, and of processor time.

    births.py queue ITEMS     two threads put them into a queue, two take them off
    births.py futures ITEMS   four threads have one result each of them

A tenth as many come first and are not timed.
"""

import concurrent.futures
import queue
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


items = int(sys.argv[2])
act = {"queue": by_queue, "futures": by_futures}[sys.argv[1]]
act(items // 10 + 4)
clock, processor = time.perf_counter_ns(), time.process_time_ns()
act(items)
print((time.perf_counter_ns() - clock) / items, (time.process_time_ns() - processor) / items)
