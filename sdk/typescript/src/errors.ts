/** What goes wrong between a program and its memory. */
import type { components } from "./schema.js";

/** The server's codes, and those of answers that it did not write. */
export type ErrorCode = components["schemas"]["ErrorCodeEnum"] | "unexpected_answer";
type ErrorBody = components["schemas"]["ErrorBody"];

/** All that this package throws; a call that is aborted rejects with the reason of its signal. */
export class MemOSError extends Error {
  override name = "MemOSError";
}

/** The server does not answer, or not in time. */
export class ConnectionFailed extends MemOSError {
  override name = "ConnectionFailed";
}

/** What the server says of a refusal. */
export interface Refusal {
  /** Of HTTP. */
  status: number;
  /** The kind of error, for programs. */
  code: ErrorCode;
  /** What is wrong and how to mend it. */
  message: string;
  /** Which fields, where the server names them. */
  detail: ErrorBody["detail"];
  /** What the server's log knows the request by. */
  requestId: string;
  /** Milliseconds after which to come again, where the server names them; else 0. */
  retryAfter: number;
}

/** The server refuses a request, and says why. */
export class APIError extends MemOSError implements Refusal {
  override name = "APIError";
  readonly status: number;
  readonly code: ErrorCode;
  readonly detail: ErrorBody["detail"];
  readonly requestId: string;
  readonly retryAfter: number;

  constructor(refusal: Refusal, options?: ErrorOptions) {
    super(refusal.message, options);
    this.status = refusal.status;
    this.code = refusal.code;
    this.detail = refusal.detail;
    this.requestId = refusal.requestId;
    this.retryAfter = refusal.retryAfter;
  }
}

/** Something about the request is wrong (400, 413, 415, 422). */
export class InvalidRequest extends APIError {
  override name = "InvalidRequest";
}

/** The key is missing or not valid (401). */
export class NotAuthenticated extends APIError {
  override name = "NotAuthenticated";
}

/** The key may not do this (403). */
export class Forbidden extends APIError {
  override name = "Forbidden";
}

/** There is no such thing within the key's reach (404). */
export class NotFound extends APIError {
  override name = "NotFound";
}

/** It has been changed meanwhile, or the Idempotency-Key was used for something else (409, 412). */
export class Conflict extends APIError {
  override name = "Conflict";
}

/** Too many requests, or a budget is spent (429). */
export class RateLimited extends APIError {
  override name = "RateLimited";
}

/** The server could not do it (5xx), or broke off an answer that had begun. */
export class ServerFailed extends APIError {
  override name = "ServerFailed";
}

const BY_STATUS: Record<number, typeof APIError> = {
  400: InvalidRequest,
  401: NotAuthenticated,
  403: Forbidden,
  404: NotFound,
  409: Conflict,
  412: Conflict,
  413: InvalidRequest,
  415: InvalidRequest,
  422: InvalidRequest,
  429: RateLimited,
};

/** The error that an answer tells, whether the server or something before it wrote it. */
export function errorOf(response: Response, body: unknown): APIError {
  const { status, statusText, headers } = response;
  const kind = BY_STATUS[status] ?? (status >= 500 ? ServerFailed : APIError);
  const said = errorIn(body);
  return new kind({
    status,
    code: said.code ?? "unexpected_answer",
    message: said.message ?? `The server answered ${`${status} ${statusText}`.trim()}.`,
    detail: said.detail ?? null,
    requestId: said.request_id ?? headers.get("X-Request-ID") ?? "",
    retryAfter: Math.max(0, Number(headers.get("Retry-After")) || 0) * 1000,
  });
}

/** The error that a stream ends with. */
export function errorOfEvent(body: unknown): ServerFailed {
  const said = errorIn(body);
  return new ServerFailed({
    status: 200,
    code: said.code ?? "unexpected_answer",
    message: said.message ?? "The server broke the answer off.",
    detail: said.detail ?? null,
    requestId: said.request_id ?? "",
    retryAfter: 0,
  });
}

/** What a body says under `error`; nothing where it has another shape. */
function errorIn(body: unknown): Partial<ErrorBody> {
  const error = typeof body === "object" && body !== null && "error" in body ? body.error : null;
  return typeof error === "object" && error !== null ? error : {};
}
