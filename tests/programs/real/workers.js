const { Worker, isMainThread, parentPort, workerData } = require('worker_threads');
const crypto = require('crypto'), zlib = require('zlib');
if (!isMainThread) {
  const memory = new Int32Array(workerData.memory);
  let hash = '';
  for (let i = 0; i < 200; i++) { hash = crypto.createHash('sha256').update(hash + workerData.n).digest('hex'); Atomics.add(memory, 0, 1); }
  parentPort.postMessage(hash);
} else {
  const memory = new SharedArrayBuffer(4);
  const worker = n => new Promise((done, failed) => {
    const w = new Worker(__filename, { workerData: { n, memory } });
    let answer; w.on('message', m => answer = m); w.on('error', failed); w.on('exit', () => done(answer));
  });
  const pooled = n => new Promise((done, failed) => crypto.pbkdf2('secret', 'salt' + n, 2000, 32, 'sha256', (e, key) => e ? failed(e) : done(key.toString('hex'))));
  const packed = n => new Promise((done, failed) => zlib.deflate(Buffer.alloc(100000, 'abc' + n), (e, out) => e ? failed(e) : done(out.length)));
  (async () => {
    console.log(await Promise.all([0, 1, 2].map(worker)), new Int32Array(memory)[0]);
    console.log(await Promise.all([...Array(16).keys()].map(pooled)));
    console.log(await Promise.all([...Array(16).keys()].map(packed)));
  })();
}
