// Remembers through a proxy that fails first (MEMOS_URL), and prints what the gate says.
import { MemOS } from "memos-client";

const memos = new MemOS(process.env.MEMOS_URL!, process.env.MEMOS_API_KEY!, { namespace: "alice" });
console.log((await memos.remember("Priya reviews the migration before the release.")).verdict);
for await (const { event } of memos.answer("Who reviews the migration?", { stream: true })) {
  if (event === "done") console.log(event);
}
