/** The TypeScript client of MemOS, the memory server for AI agents.
 *
 *     const memos = new MemOS("http://127.0.0.1:8000", key, { namespace: "alice" });
 *     await memos.remember("I moved to Lisbon in May.");
 *     (await memos.recall("Where does she live?")).hits;
 */
export * from "./client.js";
export {
  APIError,
  Conflict,
  ConnectionFailed,
  Forbidden,
  InvalidRequest,
  MemOSError,
  NotAuthenticated,
  NotFound,
  RateLimited,
  ServerFailed,
  type ErrorCode,
} from "./errors.js";
export type {
  ChangeOptions,
  Changes,
  DocumentListOptions,
  DocumentOptions,
  DocumentPage,
  Documents,
  ImportOptions,
  Imports,
  Memories,
  MemoryChange,
  MemoryListOptions,
  ResetOptions,
  Schemas,
  Sessions,
} from "./resources.js";
export type { CallOptions, ClientOptions, WriteOptions } from "./transport.js";
