import threading, queue, hashlib, concurrent.futures as f
q = queue.Queue(8)
out = {}
lock = threading.Lock()
cond = threading.Condition()
done = 0
def worker(n):
    global done
    while (item := q.get()) is not None:
        h = hashlib.sha256(str(item).encode() * 1000).hexdigest()
        with lock:
            out[item] = h
    with cond:
        done += 1
        cond.notify_all()
ts = [threading.Thread(target=worker, args=(n,)) for n in range(4)]
for t in ts: t.start()
for i in range(400): q.put(i)
for _ in ts: q.put(None)
with cond:
    cond.wait_for(lambda: done == 4)
for t in ts: t.join()
with f.ThreadPoolExecutor(4) as pool:
    squares = sum(pool.map(lambda n: n * n, range(500)))
print(squares, hashlib.sha256(repr(sorted(out.items())).encode()).hexdigest())
