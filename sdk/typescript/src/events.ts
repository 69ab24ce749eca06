/** Server-sent events, as the streams of answers have them. */

/** An event: its name, and its data as JSON says them. */
export interface ServerEvent {
  event: string;
  data: unknown;
}

/** Takes one step of reading. */
type Within = <T>(step: () => Promise<T>) => Promise<T>;

/** The events of a body as they come, each piece of which is read `within` a limit. */
export async function* readEvents(
  body: ReadableStream<Uint8Array>,
  within: Within,
): AsyncGenerator<ServerEvent> {
  let event = "message";
  let data: string[] = [];
  for await (const line of readLines(body, within)) {
    const [field, value] = fieldOf(line);
    if (field === "event") {
      event = value;
    } else if (field === "data") {
      data.push(value);
    } else if (line === "") {
      if (data.length) yield { event, data: JSON.parse(data.join("\n")) };
      event = "message";
      data = [];
    }
  }
}

async function* readLines(body: ReadableStream<Uint8Array>, within: Within): AsyncGenerator<string> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  for (;;) {
    const { done, value } = await within(() => reader.read());
    if (done) return;
    const lines = (rest + decoder.decode(value, { stream: true })).split(/\r?\n/);
    rest = lines.pop() ?? "";
    yield* lines;
  }
}

function fieldOf(line: string): [string, string] {
  const colon = line.indexOf(":");
  return colon < 0 ? [line, ""] : [line.slice(0, colon), line.slice(colon + 1).replace(/^ /, "")];
}
