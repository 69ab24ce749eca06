// What must not compile: each line that says so.
import { MemOS } from "memos-client";

const memos = new MemOS("http://127.0.0.1:8000", "mos_x", { namespace: "alice" });
new MemOS("http://127.0.0.1:8000"); // wrong: no key
await memos.recall("x", { topk: 3 }); // wrong: misspelt
await memos.recall("x", { top_k: "3" }); // wrong: not a number
await memos.recall("x", {}, { idempotencyKey: "x" }); // wrong: nothing is kept
await memos.recall("x", { filter: { role: "assistent" } }); // wrong: no role
await memos.memories.update("x", { text: "y" }); // wrong: no reason
await memos.memories.list({ state: "gone" }); // wrong: no state
await memos.changes.list({ types: ["memory.gone"] }); // wrong: no type of event
(await memos.recall("x")).hits[0]!.txt; // wrong: no field
(await memos.answer("x")).event; // wrong: not a stream
for await (const one of memos.answer("x", { stream: true })) one.data.text; // wrong: not every event has one
