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


def asleep(task):
    with open(f"/proc/self/task/{task}/stat") as stat:
        return stat.read().rpartition(")")[2].split()[0] == "S"


def run(function):
    """Runs it in a thread; no lock orders this before what comes next: they look at what they share."""
    done = []

    def body():
        function()
        done.append(True)

    _thread.start_new_thread(body, ())
    while not done:
        time.sleep(0.001)


def wait_for_one():
    """Has a thread wait for a lock: CPython tries for its locks first, and that it waits where that fails is not
    seen before one has been contended."""
    lock, tasks, done = _thread.allocate_lock(), [], []

    def take():
        tasks.append(_thread.get_native_id())
        with lock:
            done.append(True)

    with lock:
        _thread.start_new_thread(take, ())
        looks = 0
        while looks < 20:
            looks = looks + 1 if tasks and asleep(tasks[0]) else 0
            time.sleep(0.001)
    while not done:
        time.sleep(0.001)


account, log = Account(), Log()
wait_for_one()
run(lambda: transfer(account, log))
if sys.argv[1] == "both":
    run(lambda: show(account, log))
else:
    run(lambda: transfer(account, log))
