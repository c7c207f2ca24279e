"""Makes locks and drops them: each is `made`, or taken as well, `nested` in another one, or `waited` for by the thread that has
taken it, as for what another thread hands over."""

import sys
import threading

outer = threading.Lock()


def made(turns):
    for _ in range(turns):
        threading.Lock()


def nested(turns):
    for _ in range(turns):
        inner = threading.Lock()
        with outer:
            with inner:
                pass


def waited(turns):
    for _ in range(turns):
        lock = threading.Lock()
        lock.acquire()
        lock.acquire(timeout=1e-6)


{"made": made, "nested": nested, "waited": waited}[sys.argv[1]](int(sys.argv[2]))
