"""Two of Python's locks, taken by lines of their own.

    lines.py both   in both orders, by two threads, one after the other
    lines.py one    in one order, by both
"""
import _thread
import sys
import threading
import time


class Account:
    def __init__(self):
        self.lock = threading.Lock()


class Log:
    def __init__(self):
        self.lock = threading.Lock()


def transfer(account, log):
    with account.lock:
        write(log)


def write(log):
    with log.lock:
        pass


def show(account, log):
    with log.lock:
        with account.lock:
            pass


def run(function):
    """Runs it in a thread; no lock orders this before what comes next: they look at what they share."""
    done = []

    def body():
        function()
        done.append(True)

    _thread.start_new_thread(body, ())
    while not done:
        time.sleep(0.001)


account, log = Account(), Log()
run(lambda: transfer(account, log))
if sys.argv[1] == "both":
    run(lambda: show(account, log))
else:
    run(lambda: transfer(account, log))
