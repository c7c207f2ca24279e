"""Many futures at once, and all of them gone: each has a lock, which in CPython is a semaphore.

    futures.py BATCHES SIZE
"""

import concurrent.futures
import sys

batches, size = map(int, sys.argv[1:])
total = 0
with concurrent.futures.ThreadPoolExecutor(4) as pool:
    for batch in range(batches):
        futures = [pool.submit(pow, i, 3, 97) for i in range(size)]
        total += sum(future.result() for future in futures)
print(total)
