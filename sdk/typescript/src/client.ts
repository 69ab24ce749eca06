/** The client. Every call rejects with APIError where the server refuses, with ConnectionFailed where none answers. */
import { Changes, Documents, Imports, Memories, Sessions, type Fields, type Schemas } from "./resources.js";
import { Transport, once, type CallOptions, type ClientOptions, type Send, type WriteOptions } from "./transport.js";

/** A message as chat SDKs have it. */
export type Message = Schemas["MessageRequest"];
export type RememberOptions = Fields<Schemas["IngestRequest"], "text" | "messages">;
/** What `rememberAll` takes of each turn. */
export type Turn = Fields<Schemas["IngestRequest"]>;
export type RecallOptions = Fields<Schemas["SearchAcrossRequest"], "query">;
export type ContextOptions = Fields<Schemas["QueryRequest"], "query">;
export type AnswerOptions = Fields<Schemas["QuestionRequest"], "query">;
export type ChatOptions = Fields<Schemas["ChatRequest"], "message" | "messages">;

/** What a streamed answer says, piece by piece; `done` has the whole of it. */
export type AnswerEvent =
  | { event: "sources"; data: { context_pack_id: string | null; sources: Source[] } }
  | { event: "delta"; data: { text: string } }
  | { event: "citation"; data: Pick<Schemas["Citation"], "n" | "memory_id" | "at" | "supported"> }
  | { event: "done"; data: Schemas["CitedAnswer"] };

interface Streamed {
  stream: true;
}

interface Whole {
  stream?: false;
}

/** A memory that an answer may cite. */
export interface Source {
  n: number;
  memory_id: string;
  text: string;
  score: number | null;
}

/** A memory: `new MemOS(url, key, { namespace: "alice" })`.
 *
 * What the server keeps is sent with an Idempotency-Key, so that a repeat after a broken connection stores nothing
 * twice. A busy server (429, 503) is asked again after the time that it names.
 */
export class MemOS {
  readonly memories: Memories;
  readonly sessions: Sessions;
  readonly documents: Documents;
  readonly imports: Imports;
  readonly changes: Changes;
  readonly #transport: Transport;

  constructor(url: string, key: string, options: ClientOptions = {}) {
    this.#transport = new Transport(url, key, options);
    this.memories = new Memories(this.#transport);
    this.sessions = new Sessions(this.#transport);
    this.documents = new Documents(this.#transport);
    this.imports = new Imports(this.#transport);
    this.changes = new Changes(this.#transport);
  }

  /** Remembers a text, or the messages of a chat. */
  async remember(
    what: string | readonly Message[],
    options: RememberOptions = {},
    call: WriteOptions = {},
  ): Promise<Schemas["Ingested"]> {
    const told = typeof what === "string" ? { text: what } : { messages: [...what] };
    const body = { ...this.#named(options), ...told };
    const params = once(call);
    return this.#transport.send(call, true, (http, signal) => http.POST("/v1/ingest", { signal, params, body }));
  }

  /** Remembers up to 1,000 turns: all or none. */
  async rememberAll(items: readonly Turn[], call: WriteOptions = {}): Promise<Schemas["IngestedBatch"]> {
    const body = { items: items.map((one) => this.#named(one)) };
    const params = once(call);
    return this.#transport.send(call, true, (http, signal) => http.POST("/v1/ingest/batch", { signal, params, body }));
  }

  /** The memories that answer best, in `hits`. */
  async recall(query: string, options: RecallOptions = {}, call: CallOptions = {}): Promise<Schemas["Found"]> {
    const body = { ...this.#named(options), query };
    return this.#transport.send(call, true, (http, signal) => http.POST("/v1/search", { signal, body }));
  }

  /** A context pack for a prompt: its text is `context_pack.text`, the hits are `raw_chunks`. With `lean: false` the
   * answer has all else that the pack was made of, which repeats these texts. */
  async context(query: string, options: ContextOptions = {}, call: CallOptions = {}): Promise<Schemas["Answer"]> {
    const body = { lean: true, ...this.#named(options), query };
    return this.#transport.send(call, true, (http, signal) => http.POST("/v1/query", { signal, body }));
  }

  /** An answer with its citations; with `stream` the events of it, of which the last, `done`, is the whole. */
  answer(query: string, options: AnswerOptions & Streamed, call?: WriteOptions): AsyncGenerator<AnswerEvent>;
  answer(query: string, options?: AnswerOptions & Whole, call?: WriteOptions): Promise<Schemas["CitedAnswer"]>;
  answer(query: string, options: AnswerOptions & (Streamed | Whole) = {}, call: WriteOptions = {}) {
    const { stream, ...rest } = options;
    // What only asks has no effect that a key would keep from coming twice.
    const params = rest.remember ? once(call) : {};
    const body = () => ({ ...this.#named(rest), query });
    if (stream) {
      return this.#stream(call, (http, signal) =>
        http.POST("/v1/answer/stream", { signal, params, body: body(), parseAs: "stream" }),
      );
    }
    return this.#transport.send(call, true, (http, signal) => http.POST("/v1/answer", { signal, params, body: body() }));
  }

  /** A reply in a session; both sides are remembered. With `stream` its events. */
  chat(message: string | readonly Message[], options: ChatOptions & Streamed, call?: WriteOptions): AsyncGenerator<AnswerEvent>;
  chat(message: string | readonly Message[], options?: ChatOptions & Whole, call?: WriteOptions): Promise<Schemas["CitedAnswer"]>;
  chat(message: string | readonly Message[], options: ChatOptions & (Streamed | Whole) = {}, call: WriteOptions = {}) {
    const { stream, ...rest } = options;
    const params = once(call);
    const said = typeof message === "string" ? { message } : { messages: [...message] };
    const body = () => ({ ...this.#named(rest), ...said });
    if (stream) {
      return this.#stream(call, (http, signal) =>
        http.POST("/v1/chat/stream", { signal, params, body: body(), parseAs: "stream" }),
      );
    }
    return this.#transport.send(call, true, (http, signal) => http.POST("/v1/chat", { signal, params, body: body() }));
  }

  #stream(call: CallOptions, request: Send<unknown>): AsyncGenerator<AnswerEvent> {
    return this.#transport.stream(call, request) as AsyncGenerator<AnswerEvent>;
  }

  #named<T extends { namespace?: string }>(options: T): T & { namespace: string | undefined } {
    return { ...options, namespace: this.#transport.namespaceOf(options.namespace) };
  }
}
