// What is refused, what does not answer, what takes too long and what is aborted.
import assert from "node:assert/strict";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";

import {
  APIError,
  ConnectionFailed,
  InvalidRequest,
  MemOS,
  MemOSError,
  NotAuthenticated,
  NotFound,
  RateLimited,
  ServerFailed,
} from "memos-client";

const url = process.env.MEMOS_URL!;
const key = process.env.MEMOS_API_KEY!;
const memos = new MemOS(url, key, { namespace: "alice" });

async function refused<E>(kind: abstract new (...given: never[]) => E, call: Promise<unknown>): Promise<E> {
  const error = await call.then(
    () => assert.fail("nothing was thrown"),
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof kind, String(error));
  return error;
}

/** A client of a server that answers as it is told. */
async function beside(answer: RequestListener, use: (other: MemOS) => Promise<void>): Promise<void> {
  const server = createServer(answer).listen(0, "127.0.0.1");
  await new Promise((listens) => server.once("listening", listens));
  const { port } = server.address() as AddressInfo;
  await use(new MemOS(`http://127.0.0.1:${port}`, "mos_x", { namespace: "alice", retries: 0, timeout: 30_000 }));
  server.closeAllConnections();
  server.close();
}

const drain = async (items: AsyncIterable<unknown>) => {
  for await (const _ of items);
};

// What the server refuses.
await refused(NotAuthenticated, new MemOS(url, "mos_wrong", { namespace: "alice" }).recall("x"));
const notFound = await refused(NotFound, memos.recall("x", { namespace: "somebody-else" }));
assert.deepEqual([notFound.status, notFound.code, notFound.name], [404, "not_found", "NotFound"]);
assert.ok(notFound.message && notFound.requestId);
const invalid = await refused(InvalidRequest, memos.recall("x", { top_k: 500 }));
assert.ok(Array.isArray(invalid.detail) && invalid.detail[0]!.field === "top_k");
await refused(InvalidRequest, drain(memos.answer("", { stream: true })));

// What the client refuses.
// A client without a namespace leaves it to the key.
assert.ok(Array.isArray((await new MemOS(url, key).recall("x")).hits));
assert.throws(() => new MemOS("somewhere", key), /no address/);
assert.throws(() => new MemOS(url, ""), /no key/);
const loop: Record<string, unknown> = {};
loop["itself"] = loop;
assert.match((await refused(MemOSError, memos.remember("x", { metadata: loop }))).message, /JSON/);

// A server that is not there, is none of ours, or takes too long.
const away = await refused(ConnectionFailed, new MemOS("http://127.0.0.1:9", key, { namespace: "a", retries: 0 }).recall("x"));
assert.match(away.message, /127\.0\.0\.1:9 does not answer: .+\.$/);
await beside(
  (_, answer) => answer.end("<h1>It works!</h1>"),
  async (other) => {
    const error = await refused(APIError, other.recall("x"));
    assert.deepEqual([error.code, error.status], ["unexpected_answer", 200]);
  },
);
await beside(
  (_, answer) => answer.writeHead(502, { "X-Request-ID": "r1" }).end("<h1>Bad gateway</h1>"),
  async (other) => {
    const error = await refused(ServerFailed, other.recall("x"));
    assert.deepEqual([error.code, error.requestId], ["unexpected_answer", "r1"]);
    assert.match(error.message, /502/);
  },
);
await beside(
  () => undefined,
  async (other) => {
    const error = await refused(ConnectionFailed, other.recall("x", {}, { timeout: 20 }));
    assert.match(error.message, /within 20 ms/);
  },
);

// Streams that break off, tell of an error, hang, and cut a character in two.
await beside(
  (_, answer) => answer.end('event: delta\ndata: {"text": "Pri'),
  async (other) => {
    assert.match((await refused(ConnectionFailed, drain(other.answer("x", { stream: true })))).message, /complete/);
  },
);
await beside(
  (_, answer) => answer.end('event: error\ndata: {"error": {"code": "llm_error", "message": "It failed.", "request_id": "r2"}}\n\n'),
  async (other) => {
    const error = await refused(ServerFailed, drain(other.answer("x", { stream: true })));
    assert.deepEqual([error.code, error.message, error.requestId], ["llm_error", "It failed.", "r2"]);
  },
);
await beside(
  (_, answer) => void answer.write(": ping\n\n"),
  async (other) => {
    await refused(ConnectionFailed, drain(other.answer("x", { stream: true }, { timeout: 100 })));
  },
);
await beside(
  (_, answer) => {
    const bytes = Buffer.from('event: delta\r\ndata: {"text":\r\ndata: "北京"}\r\n\r\nevent: done\ndata: {}\n\n');
    answer.write(bytes.subarray(0, bytes.indexOf("京") + 1));
    setTimeout(() => answer.end(bytes.subarray(bytes.indexOf("京") + 1)), 20);
  },
  async (other) => {
    for await (const one of other.answer("x", { stream: true })) if (one.event === "delta") assert.equal(one.data.text, "北京");
  },
);

// What is aborted: before it begins, while it waits for the server, between repeats, in a stream.
const reason = new Error("enough");
const aborted = async (call: Promise<unknown>) => assert.equal(await refused(Error, call), reason);
await aborted(memos.recall("x", {}, { signal: AbortSignal.abort(reason) }));
let leave = new AbortController();
await beside(
  () => leave.abort(reason),
  async (other) => aborted(other.recall("x", {}, { signal: leave.signal })),
);
leave = new AbortController();
await beside(
  (_, answer) => void answer.write('event: delta\ndata: {"text": "Pri"}\n\n'),
  async (other) => {
    const reads = async () => {
      for await (const _ of other.answer("x", { stream: true }, { signal: leave.signal })) leave.abort(reason);
    };
    await aborted(reads());
  },
);
leave = new AbortController();
const busy = async () => new Response(null, { status: 429, headers: { "Retry-After": "3600" } });
const patient = new MemOS(url, key, { namespace: "alice", longestPause: Infinity, fetch: busy });
const waits = patient.recall("x", {}, { signal: leave.signal });
setTimeout(() => leave.abort(reason), 20);
await aborted(waits);

// Who asks for an hour is not asked again.
const spent = await refused(RateLimited, new MemOS(url, key, { namespace: "alice", fetch: busy }).recall("x"));
assert.equal(spent.retryAfter, 3_600_000);

console.log("done");
