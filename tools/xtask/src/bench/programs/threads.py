"""Four threads take ITEMS off a queue, hash each, and put what comes out under a lock.

python3 threads.py ITEMS
"""

import hashlib
import queue
import sys
import threading

items = queue.Queue(8)
lock = threading.Lock()
hashes = {}


def work():
    while (item := items.get()) is not None:
        digest = hashlib.sha256(str(item).encode() * 1000).hexdigest()
        with lock:
            hashes[item] = digest


threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads:
    thread.start()
for item in range(int(sys.argv[1])):
    items.put(item)
for _ in threads:
    items.put(None)
for thread in threads:
    thread.join()
sys.exit(len(hashes) != int(sys.argv[1]))
