"""Threads that log to a file by Python's logging: the handler waits for the disk with its lock held, or the thread does so
afterwards. Usage: remedies_logging.py sync before|after [MILLISECONDS]"""
import logging
import os
import random
import sys
import threading
import time

is_after = sys.argv[2] == "after"
seconds = int(sys.argv[3]) / 1000 if len(sys.argv) > 3 else 1


class Synced(logging.FileHandler):
    def emit(self, record):
        super().emit(record)
        if not is_after:
            os.fsync(self.stream.fileno())

    def handle(self, record):
        handled = super().handle(record)
        if is_after:
            os.fsync(self.stream.fileno())
        return handled


log = logging.getLogger("remedies")
log.addHandler(Synced("remedies.log"))
log.setLevel(logging.INFO)
log.propagate = False
until = time.monotonic() + seconds


def work(number):
    chance = random.Random(number)
    while time.monotonic() < until:
        log.info("something happened to %d", number)
        time.sleep(chance.random() * 0.002)


threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
