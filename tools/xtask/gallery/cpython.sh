# Two threading.Lock in both orders, by two threads that never meet.
# packages: python3
cat > bank.py <<PY
import threading
import time

accounts, journal = threading.Lock(), threading.Lock()


def transfer(rounds):
    for _ in range(rounds):
        with accounts:
            with journal:
                time.sleep(0.0001)


def audit():
    time.sleep(0.2)
    with journal:
        with accounts:
            pass


tellers = [threading.Thread(target=transfer, args=(50,), name=f"teller-{n}") for n in (1, 2)]
auditor = threading.Thread(target=audit, name="auditor")
for thread in [*tellers, auditor]:
    thread.start()
for thread in [*tellers, auditor]:
    thread.join()
PY
watch check -- /usr/bin/python3 bank.py
