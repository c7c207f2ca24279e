// Perfetto's own trace_processor, as its released page runs it, without the page: it reads a trace and answers queries.
//
//     node trace_processor.js FOLDER TRACE QUERY...
//
// FOLDER has the page's `engine_bundle.js` and `trace_processor.wasm`. Prints an array with an object for each query: its columns,
// and its rows. The engine expects to be a worker of a browser, and takes its requests as messages of one byte stream.
"use strict";
const fs = require("fs");
const path = require("path");
const vm = require("vm");

const [folder, trace, ...queries] = process.argv.slice(2);

// What it asks the browser for.
globalThis.self = globalThis;
globalThis.WorkerGlobalScope = class {};
globalThis.location = { href: "http://localhost/", protocol: "http:", host: "localhost", origin: "http://localhost" };
globalThis.importScripts = () => {};
// It refuses to run where it sees node.
process.type = "renderer";
globalThis.XMLHttpRequest = class {
	open(method, url) {
		this.file = path.join(folder, path.basename(String(url)));
	}
	send() {
		const bytes = fs.readFileSync(this.file);
		this.response = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
	}
};
console.warn = () => {};

// --- Protobuf, as far as the messages need it -----------------------------------------------------

const varint = (value) => {
	const bytes = [];
	for (value = BigInt(value); value > 127n; value >>= 7n) bytes.push(Number(value & 127n) | 128);
	return Buffer.from([...bytes, Number(value)]);
};
const number = (field, value) => Buffer.concat([varint(field << 3), varint(value)]);
const bytes = (field, value) => Buffer.concat([varint((field << 3) | 2), varint(value.length), value]);

function* varints(from) {
	for (let at = 0, value = 0n, shift = 0n; at < from.length; at++) {
		value |= BigInt(from[at] & 127) << shift;
		shift += 7n;
		if (from[at] < 128) {
			yield [BigInt.asIntN(64, value), at + 1];
			value = shift = 0n;
		}
	}
}

function* fields(from) {
	for (let at = 0; at < from.length; ) {
		const take = () => {
			const [value, length] = varints(from.subarray(at)).next().value;
			at += length;
			return value;
		};
		const key = Number(take());
		const kind = key & 7;
		if (kind === 0) yield [key >> 3, take()];
		else {
			const length = kind === 2 ? Number(take()) : kind === 1 ? 8 : 4;
			yield [key >> 3, from.subarray(at, (at += length))];
		}
	}
}

// --- The engine's messages ------------------------------------------------------------------------

const [APPEND, FINALIZE, QUERY] = [1, 2, 3];
let sent = 0;
const message = (method, extra = Buffer.alloc(0)) =>
	bytes(1, Buffer.concat([number(1, ++sent), number(2, method), extra]));

/// The rows of the batches of an answer.
function rows(columns, batches) {
	const cells = [];
	for (const batch of batches) {
		let [kinds, integers, floats, blobs, strings] = [[], [], [], [], []];
		for (const [field, value] of fields(batch)) {
			if (field === 1) kinds = [...varints(value)].map(([kind]) => Number(kind));
			if (field === 2) integers = [...varints(value)].map(([integer]) => Number(integer));
			if (field === 3) for (let at = 0; at < value.length; at += 8) floats.push(value.readDoubleLE(at));
			if (field === 4) blobs.push(value);
			if (field === 5) strings = value.toString().split("\0");
		}
		for (const kind of kinds)
			cells.push(kind === 2 ? integers.shift() : kind === 3 ? floats.shift() : kind === 4 ? strings.shift() : kind === 5 ? blobs.shift().toString("hex") : null);
	}
	const all = [];
	for (let at = 0; at < cells.length; at += columns.length)
		all.push(Object.fromEntries(columns.map((column, i) => [column, cells[at + i]])));
	return all;
}

const results = [];
let current = { columns: [], batches: [], error: null };

/// Some bytes of the stream of answers.
let rest = Buffer.alloc(0);
function answered(part) {
	rest = Buffer.concat([rest, Buffer.from(part)]);
	for (;;) {
		const head = [...varints(rest.subarray(1, 11))][0];
		if (rest.length < 2 || !head) return;
		const [length, at] = [Number(head[0]), 1 + head[1]];
		if (rest.length < at + length) return;
		const answer = rest.subarray(at, at + length);
		rest = rest.subarray(at + length);
		one(answer);
	}
}

function one(answer) {
	for (const [field, value] of fields(answer)) {
		if (field === 5) throw new Error(`the engine: ${value}`);
		if (field !== 203 && field !== 201) continue;
		for (const [part, content] of fields(value)) {
			if (part === 2) current.error = content.toString();
			if (field === 201) continue;
			if (part === 1) current.columns.push(content.toString());
			if (part !== 3) continue;
			current.batches.push(content);
			if ([...fields(content)].some(([f, v]) => f === 6 && v)) {
				const { columns, batches, error } = current;
				results.push({ columns, rows: rows(columns, batches), error });
				current = { columns: [], batches: [], error: null };
			}
		}
		if (current.error) {
			results.push({ columns: [], rows: [], error: current.error });
			current = { columns: [], batches: [], error: null };
		}
	}
}

const port = { postMessage: answered, onmessage: null };
vm.runInThisContext(fs.readFileSync(path.join(folder, "engine_bundle.js"), "utf8"), { filename: "engine_bundle.js" });
self.onmessage({ data: port });

function ask() {
	const send = (data) => port.onmessage({ data: new Uint8Array(data) });
	const all = fs.readFileSync(trace);
	for (let at = 0; at < all.length || at === 0; at += 1 << 20)
		send(message(APPEND, bytes(101, all.subarray(at, at + (1 << 20)))));
	send(message(FINALIZE));
	for (const query of queries) send(message(QUERY, bytes(103, bytes(1, Buffer.from(query)))));
	process.stdout.write(JSON.stringify(results));
	process.exit(0);
}

// Nothing says when the engine has begun: until then it refuses.
const begun = Date.now();
(function again() {
	try {
		port.onmessage({ data: new Uint8Array(0) });
		require("process").nextTick(() => {});
	} catch (error) {}
	setTimeout(() => {
		try {
			ask();
		} catch (error) {
			if (Date.now() - begun > 60000) {
				console.error(error);
				process.exit(1);
			}
			sent = 0;
			again();
		}
	}, 100);
})();
