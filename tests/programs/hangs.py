"""Hangs: one thread waits for news with a lock held that the other needs before it has any."""

import threading

guard = threading.Lock()
news = threading.Semaphore(0)
has_guard = threading.Event()


def take():
    # The line that the report is to have is that of the call, although it goes on over others.
    with guard:
        has_guard.set()
        return news.acquire(
        )


def consume():
    return take()


class Producer(threading.Thread):
    def run(self):
        has_guard.wait()
        with guard:
            news.release()


threads = [threading.Thread(target=consume), Producer()]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
