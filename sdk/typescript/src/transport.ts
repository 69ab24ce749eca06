/** How requests travel: time limits, repeats and streams. */
import createClient, { type Client } from "openapi-fetch";

import { APIError, ConnectionFailed, MemOSError, errorOf, errorOfEvent } from "./errors.js";
import { readEvents, type ServerEvent } from "./events.js";
import type { paths } from "./schema.js";

/** How a client behaves. Times are in milliseconds. */
export interface ClientOptions {
  /** Whose memory, where a call names no other. */
  namespace?: string;
  /** How long an answer, or the next piece of a stream, may take (30,000); Infinity: as long as it takes. */
  timeout?: number;
  /** How often a request is sent again when the server is busy or the connection breaks (3). */
  retries?: number;
  /** The longest pause before one is sent again (60,000). A server that asks for a longer one is not asked again. */
  longestPause?: number;
  /** What sends requests, instead of the `fetch` that is there. */
  fetch?: (request: Request) => Promise<Response>;
}

/** How one call behaves. */
export interface CallOptions {
  /** Ends the call, which rejects with the signal's reason. */
  signal?: AbortSignal;
  /** Milliseconds, instead of the client's. */
  timeout?: number;
}

/** How a call behaves whose effect the server keeps. */
export interface WriteOptions extends CallOptions {
  /** The same for what is to be done once, also by another program; left out, each call has one of its own. */
  idempotencyKey?: string;
}

interface Reply<T> {
  data?: T;
  error?: unknown;
  response: Response;
}

/** Sends a request, which the signal ends. */
export type Send<T> = (http: Client<paths>, signal: AbortSignal) => Promise<Reply<T>>;

/** The statuses with which the server says that it has done nothing, and that a moment later it may. */
const BUSY = new Set([429, 503]);
const FIRST_PAUSE = 500;
const NO_CONTENT = 204;

export class Transport {
  readonly timeout: number;
  readonly #http: Client<paths>;
  readonly #url: string;
  readonly #namespace: string | undefined;
  readonly #retries: number;
  readonly #longestPause: number;

  constructor(url: string, key: string, options: ClientOptions) {
    if (!URL.canParse(url)) throw new MemOSError(`${url || "An empty text"} is no address: http://127.0.0.1:8000 is one.`);
    if (!key) throw new MemOSError("There is no key. `manage.py issue_api_key` makes one.");
    this.#url = url;
    this.#namespace = options.namespace;
    this.timeout = options.timeout ?? 30_000;
    this.#retries = options.retries ?? 3;
    this.#longestPause = options.longestPause ?? 60_000;
    this.#http = createClient<paths>({
      baseUrl: url,
      headers: { Authorization: `Bearer ${key}` },
      bodySerializer: serialize,
      ...(options.fetch && { fetch: options.fetch }),
    });
  }

  /** Returns `named`, else the client's own namespace; undefined leaves it to the key's default. */
  namespaceOf(named?: string): string | undefined {
    return named ?? this.#namespace;
  }

  /** The answer to a request. `repeatable`: to send it again does no harm when nobody knows what became of it. */
  async send<T>(call: CallOptions, repeatable: boolean, request: Send<T>): Promise<T> {
    const [answer, limit] = await this.#begin(call, repeatable, request);
    limit.end();
    return answer;
  }

  /** The events of a streamed answer as they come. Throws APIError for its event `error`. */
  async *stream(call: CallOptions, request: Send<unknown>): AsyncGenerator<ServerEvent> {
    const [body, limit] = await this.#begin(call, true, request);
    try {
      for await (const one of readEvents(body as ReadableStream<Uint8Array>, (step) => this.#within(limit, step))) {
        if (one.event === "error") throw errorOfEvent(one.data);
        yield one;
        if (one.event === "done") return;
      }
      throw new ConnectionFailed(`${this.#url} broke off before the answer was complete.`);
    } finally {
      limit.end();
    }
  }

  /** What a request is answered, and the limit under which the rest of it comes. */
  async #begin<T>(call: CallOptions, repeatable: boolean, request: Send<T>): Promise<[T, Limit]> {
    for (let attempt = 1; ; attempt++) {
      const limit = new Limit(call.timeout ?? this.timeout, call.signal);
      try {
        const { data, error, response } = await this.#within(limit, () => request(this.#http, limit.signal));
        if (!response.ok || (data === undefined && response.status !== NO_CONTENT)) throw errorOf(response, error);
        return [data as T, limit];
      } catch (error) {
        limit.end();
        const pause = attempt > this.#retries ? undefined : pauseBefore(attempt, error, repeatable);
        if (pause === undefined || pause > this.#longestPause) throw error;
        await sleep(pause + Math.random() * 100, call.signal);
      }
    }
  }

  /** Takes a step of a request within its limit. Throws MemOSError, or the reason of the caller's signal. */
  async #within<T>(limit: Limit, step: () => Promise<T>): Promise<T> {
    limit.start();
    try {
      return await step();
    } catch (cause) {
      if (limit.caller?.aborted) throw limit.caller.reason;
      if (cause instanceof MemOSError) throw cause;
      if (cause instanceof SyntaxError) throw noJSON(this.#url, cause);
      const late = limit.signal.aborted;
      const what = late ? `did not answer within ${limit.milliseconds} ms` : `does not answer: ${describe(cause)}`;
      throw new ConnectionFailed(`${this.#url} ${what}.`, { cause });
    } finally {
      limit.stop();
    }
  }
}

/** Ends a request when a step of it takes too long, or its caller wants no more of it. */
class Limit {
  readonly #controller = new AbortController();
  readonly #leave = () => this.#controller.abort(this.caller?.reason);
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    readonly milliseconds: number,
    readonly caller: AbortSignal | undefined,
  ) {
    if (caller?.aborted) this.#leave();
    caller?.addEventListener("abort", this.#leave);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Begins a step. */
  start(): void {
    if (this.milliseconds < Infinity) this.#timer = setTimeout(() => this.#controller.abort(), this.milliseconds);
  }

  /** Ends the step: what the caller does in between takes no time. */
  stop(): void {
    clearTimeout(this.#timer);
  }

  /** Ends the request, and the connection if more was to come on it. */
  end(): void {
    this.caller?.removeEventListener("abort", this.#leave);
    this.#controller.abort();
  }
}

/** The header that has a request done once: the same for all repeats of it. */
export function once(call: WriteOptions): { header: { "Idempotency-Key": string } } {
  // Pages that came by plain http have no crypto.randomUUID.
  const made = () => Array.from(crypto.getRandomValues(new Uint8Array(16)), (one) => one.toString(16).padStart(2, "0"));
  return { header: { "Idempotency-Key": call.idempotencyKey ?? made().join("") } };
}

/** Milliseconds before a request is sent again for the nth time; undefined where that does not help. */
function pauseBefore(attempt: number, error: unknown, repeatable: boolean): number | undefined {
  const helps = error instanceof APIError ? BUSY.has(error.status) : error instanceof ConnectionFailed && repeatable;
  const wanted = error instanceof APIError ? error.retryAfter : 0;
  return helps ? wanted || FIRST_PAUSE * 2 ** (attempt - 1) : undefined;
}

/** Waits. Rejects with the signal's reason when it is aborted. */
export function sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", end);
      if (signal?.aborted) reject(signal.reason);
      else resolve();
    };
    const timer = setTimeout(end, milliseconds);
    if (signal?.aborted) end();
    signal?.addEventListener("abort", end);
  });
}

function serialize(body: unknown): string {
  try {
    return JSON.stringify(body);
  } catch (cause) {
    throw new MemOSError(`What was given does not go into JSON: ${describe(cause)}.`, { cause });
  }
}

function noJSON(url: string, cause: unknown): APIError {
  const message = `${url} answers with something else than JSON: it may not be the address of MemOS.`;
  const refusal = { status: 200, code: "unexpected_answer", message, detail: null, requestId: "", retryAfter: 0 } as const;
  return new APIError(refusal, { cause });
}

/** What an error says, and the one that it rests on, where `fetch` hides why. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { message } = error.cause instanceof Error && error.cause.message ? error.cause : error;
  return message.replace(/\.$/, "");
}
