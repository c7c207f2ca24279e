"""Makes locks and drops them: each is `made`, or taken as well, `nested` in another one."""

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


{"made": made, "nested": nested}[sys.argv[1]](int(sys.argv[2]))
