// Sends files in parts to the server of MEMOS_URL, and prints the id of the import that comes of it.
import assert from "node:assert/strict";

import { InvalidRequest, MemOS, NotFound } from "memos-client";

const url = process.env.MEMOS_URL!;
const key = process.env.MEMOS_API_KEY!;
const memos = new MemOS(url, key, { namespace: "alice" });
const lines = Array.from({ length: 40 }, (_, n) => `[2026-05-08] - Container ${n} was moved to pier ${n}.`);
const notes = new File([lines.join("\n")], "notes.txt");

const started = await memos.imports.start(notes, { speaker: "Ada", format: "pasted" });
assert.equal(started.bytes, notes.size);
assert.equal((await memos.imports.get(started.id!)).state, "queued");
await assert.rejects(memos.imports.get("00000000-0000-0000-0000-000000000000"), NotFound);

// A file that is refused; a blob has no name by itself.
await assert.rejects(memos.imports.start(new Blob(["%PDF-1.7 ", "x".repeat(1000)]), { name: "x.pdf" }), InvalidRequest);
await assert.rejects(memos.imports.start(new Blob([])), InvalidRequest);

// One that its caller gives up in the middle.
const controller = new AbortController();
let parts = 0;
const leaving = new MemOS(url, key, {
  namespace: "alice",
  fetch: (request) => {
    if (request.method === "PUT" && ++parts === 2) controller.abort();
    return fetch(request);
  },
});
await assert.rejects(leaving.imports.start(notes, {}, { signal: controller.signal }), { name: "AbortError" });
assert.equal(parts, 2);

console.log(started.id);
