/** Memories, sessions, documents and changes: what is reached one by one. */
import { APIError } from "./errors.js";
import type { components, operations } from "./schema.js";
import { once, sleep, type CallOptions, type Transport, type WriteOptions } from "./transport.js";

/** The server's types by their names. */
export type Schemas = components["schemas"];
/** Fields of a request without those that a method takes by itself; the namespace may be left to the client. */
export type Fields<T, Taken extends keyof T = never> = Omit<T, Taken | "namespace"> & { namespace?: string };

export type MemoryListOptions = Fields<NonNullable<operations["list_memories"]["parameters"]["query"]>>;
export type DocumentListOptions = Fields<NonNullable<operations["list_documents"]["parameters"]["query"]>>;
export type DocumentPage = Fields<NonNullable<operations["get_document"]["parameters"]["query"]>>;
export type DocumentOptions = Fields<Schemas["DocumentRequest"], "text">;
export type ResetOptions = Fields<Schemas["ResetRequest"], "session_id" | "confirm">;
/** What is to be different of a memory, and why. */
export type MemoryChange = Schemas["PatchedMemoryChangeRequest"] & { reason: string };
/** `name`: of the file, if it has none by itself. */
export type ImportOptions = Fields<Schemas["ImportTextRequest"], "text" | "upload" | "preview"> & { name?: string };
export type ChangeOptions = Fields<NonNullable<operations["list_changes"]["parameters"]["query"]>, "types"> & {
  types?: readonly Schemas["EventTypeEnum"][];
};

/** How long one answer of the feed is waited for, in seconds, and how soon the next is asked for, in milliseconds. */
const WAIT = 30;
const LEAST_PAUSE = 1000;
/** Milliseconds that the server may take to read a large file through before it answers. */
const READING = 120_000;

/** Memories one by one. A change wants a reason, which the audit log keeps. */
export class Memories {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** A page, newest first; `next_cursor` leads to the next. */
  async list(options: MemoryListOptions = {}, call: CallOptions = {}): Promise<Schemas["MemoryList"]> {
    const query = { ...options, namespace: this.#transport.namespaceOf(options.namespace) };
    return this.#transport.send(call, true, (http, signal) => http.GET("/v1/memories", { signal, params: { query } }));
  }

  /** All of them, page by page. */
  async *all(options: MemoryListOptions = {}, call: CallOptions = {}): AsyncGenerator<Schemas["Memory"]> {
    let cursor = options.cursor;
    do {
      const page = await this.list({ ...options, cursor }, call);
      yield* page.memories;
      cursor = page.next_cursor ?? undefined;
    } while (cursor);
  }

  async get(memory_id: string, call: CallOptions = {}): Promise<Schemas["Memory"]> {
    const params = { path: { memory_id } };
    return this.#transport.send(call, true, (http, signal) => http.GET("/v1/memories/{memory_id}", { signal, params }));
  }

  /** What it said before, what was done to it and why. */
  async history(memory_id: string, call: CallOptions = {}): Promise<Schemas["History"]> {
    const params = { path: { memory_id } };
    return this.#transport.send(call, true, (http, signal) =>
      http.GET("/v1/memories/{memory_id}/history", { signal, params }),
    );
  }

  async update(memory_id: string, body: MemoryChange, call: WriteOptions = {}): Promise<Schemas["Changed"]> {
    const params = { path: { memory_id }, ...once(call) };
    return this.#transport.send(call, true, (http, signal) =>
      http.PATCH("/v1/memories/{memory_id}", { signal, params, body }),
    );
  }

  /** Takes it out of searches; `restore` brings it back. */
  async delete(
    memory_id: string,
    query: Schemas["OptionalReasonRequest"] = {},
    call: WriteOptions = {},
  ): Promise<Schemas["Archived"]> {
    const params = { path: { memory_id }, query, ...once(call) };
    return this.#transport.send(call, true, (http, signal) =>
      http.DELETE("/v1/memories/{memory_id}", { signal, params }),
    );
  }

  async restore(
    memory_id: string,
    body: Schemas["RestoreRequest"],
    call: WriteOptions = {},
  ): Promise<Schemas["Changed"]> {
    const params = { path: { memory_id }, ...once(call) };
    return this.#transport.send(call, true, (http, signal) =>
      http.POST("/v1/memories/{memory_id}/restore", { signal, params, body }),
    );
  }

  /** Says what holds instead: a `text`, or `by` a memory that is there. */
  async supersede(
    memory_id: string,
    body: Schemas["SupersedeRequest"],
    call: WriteOptions = {},
  ): Promise<Schemas["Changed"]> {
    const params = { path: { memory_id }, ...once(call) };
    return this.#transport.send(call, true, (http, signal) =>
      http.POST("/v1/memories/{memory_id}/supersede", { signal, params, body }),
    );
  }

  async pin(
    memory_id: string,
    body: Schemas["OptionalReasonRequest"] = {},
    call: WriteOptions = {},
  ): Promise<Schemas["Changed"]> {
    const params = { path: { memory_id }, ...once(call) };
    return this.#transport.send(call, true, (http, signal) =>
      http.POST("/v1/memories/{memory_id}/pin", { signal, params, body }),
    );
  }

  async unpin(
    memory_id: string,
    body: Schemas["OptionalReasonRequest"] = {},
    call: WriteOptions = {},
  ): Promise<Schemas["Changed"]> {
    const params = { path: { memory_id }, ...once(call) };
    return this.#transport.send(call, true, (http, signal) =>
      http.POST("/v1/memories/{memory_id}/unpin", { signal, params, body }),
    );
  }
}

/** Conversations. */
export class Sessions {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Deletes the session's memories, summaries and packs for good; with `dry_run` only counts them. */
  async reset(session_id: string, options: ResetOptions = {}, call: CallOptions = {}): Promise<Schemas["ResetDone"]> {
    const namespace = this.#transport.namespaceOf(options.namespace);
    const body = { ...options, namespace, session_id, confirm: true };
    return this.#transport.send(call, false, (http, signal) => http.POST("/v1/sessions/reset", { signal, body }));
  }
}

/** Long texts, remembered in chunks. */
export class Documents {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Remembers a document, or the new version of one. */
  async put(text: string, options: DocumentOptions = {}, call: WriteOptions = {}): Promise<Schemas["StoredDocument"]> {
    const body = { ...options, namespace: this.#transport.namespaceOf(options.namespace), text };
    const params = once(call);
    const stored = await this.#transport.send(call, true, (http, signal) =>
      http.POST("/v1/documents", { signal, params, body }),
    );
    // A text is stored at once; only a file, which is sent as a form, is answered by what will be read of it.
    return stored as Schemas["StoredDocument"];
  }

  /** A page, newest first; `next_cursor` leads to the next. */
  async list(options: DocumentListOptions = {}, call: CallOptions = {}): Promise<Schemas["DocumentList"]> {
    const query = { ...options, namespace: this.#transport.namespaceOf(options.namespace) };
    return this.#transport.send(call, true, (http, signal) => http.GET("/v1/documents", { signal, params: { query } }));
  }

  /** A document and a page of its chunks. */
  async get(
    document_id: string,
    options: DocumentPage = {},
    call: CallOptions = {},
  ): Promise<Schemas["DocumentDetail"]> {
    const namespace = this.#transport.namespaceOf(options.namespace);
    const params = { path: { document_id }, query: { ...options, namespace } };
    return this.#transport.send(call, true, (http, signal) =>
      http.GET("/v1/documents/{document_id}", { signal, params }),
    );
  }

  async delete(
    document_id: string,
    options: { namespace?: string } = {},
    call: CallOptions = {},
  ): Promise<Schemas["DocumentDeleted"]> {
    const params = { path: { document_id }, query: { namespace: this.#transport.namespaceOf(options.namespace) } };
    return this.#transport.send(call, false, (http, signal) =>
      http.DELETE("/v1/documents/{document_id}", { signal, params }),
    );
  }
}

/** What other programs exported, taken in by a job of the server. */
export class Imports {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Sends a file in parts, however large it is, and starts its import; `get` says how far that is.
   *
   * A browser's `File`, or a `Blob`: in Node.js `await openAsBlob(path)` of `node:fs`. A part that the connection loses
   * is sent again. Of a file that is refused nothing stays on the server.
   */
  async start(file: Blob, options: ImportOptions = {}, call: CallOptions = {}): Promise<Schemas["Import"]> {
    const { name = nameOf(file), ...rest } = options;
    const namespace = this.#transport.namespaceOf(options.namespace);
    const begun = await this.#transport.send(call, false, (http, signal) =>
      http.POST("/v1/uploads", { signal, body: { namespace, name, bytes: file.size } }),
    );
    try {
      for (let number = 0; number < begun.parts; number++) {
        await this.#sendPart(begun, number, file, call);
      }
      const params = once({});
      const body = { ...rest, namespace, upload: begun.id };
      const timeout = (call.timeout ?? this.#transport.timeout) + READING;
      return await this.#transport.send({ ...call, timeout }, true, (http, signal) =>
        http.POST("/v1/imports", { signal, params, body }),
      );
    } catch (error) {
      if (error instanceof APIError || call.signal?.aborted) await this.#delete(begun.id);
      throw error;
    }
  }

  /** How far it is, and what came of it. */
  async get(import_id: string, call: CallOptions = {}): Promise<Schemas["Import"]> {
    const params = { path: { import_id } };
    return this.#transport.send(call, true, (http, signal) => http.GET("/v1/imports/{import_id}", { signal, params }));
  }

  async #sendPart(upload: Schemas["Upload"], number: number, file: Blob, call: CallOptions): Promise<void> {
    const part = file.slice(number * upload.part_bytes, (number + 1) * upload.part_bytes);
    const params = { path: { upload_id: upload.id, number } };
    const headers = { "Content-Type": "application/octet-stream" };
    await this.#transport.send(call, true, (http, signal) =>
      // The schema's types know bytes as a string only.
      http.PUT("/v1/uploads/{upload_id}/parts/{number}", { signal, params, headers, bodySerializer: () => part, body: "" }),
    );
  }

  /** Deletes an upload, if that is possible: one that nothing uses goes by itself after a day. */
  async #delete(upload_id: string): Promise<void> {
    const params = { path: { upload_id } };
    await this.#transport
      .send({}, false, (http, signal) => http.DELETE("/v1/uploads/{upload_id}", { signal, params }))
      .catch(() => undefined);
  }
}

function nameOf(file: Blob): string {
  return ("name" in file && typeof file.name === "string" && file.name) || "file";
}

/** What happens in a namespace, in order and without a gap. */
export class Changes {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** What came after `cursor`; with `wait` it is waited for. `next_cursor` says where to go on. */
  async list(options: ChangeOptions = {}, call: CallOptions = {}): Promise<Schemas["ChangeList"]> {
    const { types, ...rest } = options;
    const namespace = this.#transport.namespaceOf(options.namespace);
    const params = { query: { ...rest, namespace, ...(types && { types: types.join(",") }) } };
    // The server answers after the wait; what it takes besides is as of every call.
    const timeout = (call.timeout ?? this.#transport.timeout) + 1000 * (options.wait ?? 0);
    return this.#transport.send({ ...call, timeout }, true, (http, signal) =>
      http.GET("/v1/changes", { signal, params }),
    );
  }

  /** What happens from now on, or after `cursor`, for ever, in pages that are not empty; keep `next_cursor`. */
  async *follow(options: ChangeOptions = {}, call: CallOptions = {}): AsyncGenerator<Schemas["ChangeList"]> {
    let cursor = options.cursor ?? "now";
    for (;;) {
      const began = Date.now();
      const page = await this.list({ wait: WAIT, ...options, cursor }, call);
      cursor = page.next_cursor;
      if (page.changes.length) {
        yield page;
      } else if (Date.now() - began < LEAST_PAUSE) {
        // A server without a process for those who wait answers at once.
        await sleep(LEAST_PAUSE, call.signal);
      }
    }
  }
}
