"""Makes locks at two lines over and over, and takes the last two in `both` orders or in `one`."""

import sys
import threading


def first():
    return threading.Lock()


def second():
    return threading.Lock()


def forward(a, b):
    with a:
        with b:
            pass


def backward(a, b):
    with b:
        with a:
            pass


def work(order, a, b):
    order(a, b)


for _ in range(4):
    one, other = first(), second()
    orders = [forward, backward if sys.argv[1] == "both" else forward]
    threads = [threading.Thread(target=work, args=(order, one, other)) for order in orders]
    for thread in threads:
        thread.start()
        thread.join()
