// Every method once, against the server of MEMOS_URL.
import assert from "node:assert/strict";

import { InvalidRequest, MemOS, type AnswerEvent, type Schemas } from "memos-client";

const FACT = "Priya reviews the migration before the release.";
const memos = new MemOS(process.env.MEMOS_URL!, process.env.MEMOS_API_KEY!, { namespace: "alice" });

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const one of items) found.push(one);
  return found;
}

// Remember and ask.
const done = await memos.remember(FACT, { session_id: "s1", speaker: "Tom", metadata: { from: "chat" } });
assert.equal(done.accepted, true);
const id = done.memory_id!;
const found = await memos.recall("Who reviews the migration?", { top_k: 1, filter: { speaker: "Tom" } });
assert.deepEqual(found.hits.map((hit) => [hit.id, hit.metadata["from"]]), [[id, "chat"]]);
const pack = await memos.context("Who reviews the migration?", { session_id: "s1", max_tokens: 200 });
assert.ok(pack.context_pack.text.includes(FACT));
assert.equal((await memos.answer("Who reviews the migration?")).answer, `${FACT} [1]`);

// The zone of words like yesterday arrives at every route: one that is none is refused.
const nowhere = { timezone: "Not/AZone" };
const calls = [
  () => memos.remember(FACT, nowhere),
  () => memos.recall("When was it?", nowhere),
  () => memos.context("When was it?", nowhere),
  () => memos.answer("When was it?", nowhere),
  () => memos.chat("When was it?", nowhere),
];
for (const call of calls) {
  await assert.rejects(call, (error) => error instanceof InvalidRequest && JSON.stringify(error.detail).includes("timezone"));
}
const elsewhere = await memos.recall("Who reviews the migration?", { timezone: "Asia/Shanghai", top_k: 1 });
assert.equal(elsewhere.hits.length, 1);

// Messages, batches, and a key of one's own.
await memos.remember([
  { role: "user", content: "I moved to Lisbon." },
  { role: "assistant", content: [{ type: "text", text: "Noted." }] },
]);
const turns = [{ text: "The ferry leaves at nine.", session_id: "s2" }, { text: "The beta starts on Monday." }];
const batch = await memos.rememberAll(turns, { idempotencyKey: "once" });
const again = await memos.rememberAll(turns, { idempotencyKey: "once" });
assert.deepEqual(batch.results.map((one) => one.accepted), [true, true]);
assert.deepEqual(again.results.map((one) => one.memory_id), batch.results.map((one) => one.memory_id));

// Streams.
const events: AnswerEvent[] = await collect(memos.answer("Who reviews the migration?", { stream: true }));
assert.equal(events[0]!.event, "sources");
const last = events.at(-1)!;
assert.ok(last.event === "done");
assert.equal(events.map((one) => (one.event === "delta" ? one.data.text : "")).join(""), last.data.answer);
for await (const one of memos.answer("Who reviews the migration?", { stream: true })) {
  assert.equal(one.event, "sources");
  break;
}
const reply: Schemas["CitedAnswer"] = await memos.chat("Who reviews the migration?", { session_id: "s1" });
assert.ok(reply.remembered);
const chat = await collect(memos.chat([{ role: "user", content: "And when?" }], { session_id: "s1", stream: true }));
assert.equal(chat.at(-1)!.event, "done");

// Memories.
const changed = await memos.memories.update(id, { reason: "typo", text: "Priya reviews it.", metadata: { a: 1 } });
assert.equal(changed.id, id);
await memos.memories.pin(id);
assert.deepEqual((await memos.memories.list({ pinned: true })).memories.map((one) => one.id), [id]);
await memos.memories.unpin(id, { reason: "enough" });
await memos.memories.delete(id, { reason: "test" });
assert.deepEqual((await memos.memories.list({ state: "archived" })).memories.map((one) => one.id), [id]);
await memos.memories.restore(id, { reason: "needed" });
await memos.memories.supersede(id, { reason: "she left", text: "Tom reviews it." });
assert.equal((await memos.memories.get(id)).text, "Priya reviews it.");
assert.equal((await memos.memories.history(id)).versions[0]!.text, FACT);
const said = await collect(memos.memories.all({ limit: 2 }));
assert.equal(new Set(said.map((one) => one.id)).size, said.length);
assert.ok(said.some((one) => one.text === "Tom reviews it."));

// Documents and sessions.
const stored = await memos.documents.put("# Plan\n\nThe harbour opens in May.", { document_id: "plan/1", format: "markdown" });
assert.ok(stored.chunks >= 1);
assert.deepEqual((await memos.documents.list()).documents.map((one) => one.document_id), ["plan/1"]);
assert.ok((await memos.documents.get("plan/1")).chunks[0]!.text.includes("May"));
assert.equal((await memos.documents.delete("plan/1")).deleted, true);
assert.equal((await memos.sessions.reset("s2", { dry_run: true })).deleted_counts["memories"], 1);
assert.equal((await memos.sessions.reset("s2")).deleted_counts["memories"], 1);

// Changes.
const first = await memos.changes.list({ limit: 1, types: ["memory.added"] });
assert.deepEqual(first.changes.map((one) => one.data["memory_ids"]), [[id]]);
for await (const page of memos.changes.follow({ cursor: first.next_cursor, types: ["document.deleted"] })) {
  assert.deepEqual(page.changes.map((one) => one.type), ["document.deleted"]);
  break;
}
const { next_cursor } = await memos.changes.list({ cursor: "now" });
const next = memos.changes.follow({ cursor: next_cursor }).next();
const newest = await memos.remember("The ferry leaves at ten.");
assert.deepEqual((await next).value!.changes.map((one: Schemas["ToldEvent"]) => one.data["memory_ids"]), [[newest.memory_id]]);

console.log("done");
