"""Four threads of a pool square ITEMS numbers, each as a call of its own.

python3 pool.py ITEMS
"""

import sys
from concurrent.futures import ThreadPoolExecutor

items = int(sys.argv[1])
with ThreadPoolExecutor(4) as pool:
    total = sum(pool.map(lambda number: number * number, range(items)))
sys.exit(total != sum(number * number for number in range(items)))
