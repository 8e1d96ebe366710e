/** Bounds of data from outside. Those of HTTP requests are in `http/context.ts`. */

/** Nesting depth of JSON. Thousands of levels overflow the stack of recursive readers. */
export const maxDepth = {
  /** Arguments of the API and request bodies. */
  argument: 100,
  /** Payloads and cursors of connectors. */
  result: 500,
  /** Stored JSON, which other writers may have nested deeper. */
  stored: 1000,
};

/** One page of a connector; a process holds up to `executor.concurrency` pages. */
export const maxResult = {
  signals: 100_000,
  /** All payloads of a page, as JSON. */
  pageBytes: 32 * 1024 * 1024,
  /** One payload, as JSON; a larger one is replaced by `$oversize`. */
  payloadBytes: 1024 * 1024,
  cursorBytes: 256 * 1024,
  kindLength: 200,
  /** Near the limit of an index entry; a longer key is replaced by its hash. */
  dedupeKeyBytes: 1000,
};

/** A response of a provider. */
export const maxResponse = {
  bytes: 32 * 1024 * 1024,
  /** How much of an error response is read. */
  errorBytes: 64 * 1024,
  /** Checked before parsing: millions of small values take seconds and gigabytes. */
  jsonValues: 2_000_000,
};

/** Token responses take a few kilobytes. */
export const maxTokenResponseBytes = 128 * 1024;

/** `config` and `metadata` of a connection, each as JSON: list pages hold them in memory. */
export const maxConfigBytes = 64 * 1024;

/** JWTs and private keys take a few kilobytes. */
export const maxSecretBytes = 64 * 1024;

/** A page of a list or of the feed. A larger row gets a page of its own. */
export const maxPageBytes = 8 * 1024 * 1024;

/** Names from other tables are truncated, as `maxPageBytes` does not count them. */
export const maxNameLength = 500;

/** A cursor in an audit event. The job row has the complete cursor. */
export const maxEventCursorBytes = 2048;

/** Error messages stored with jobs; some are whole HTML pages. */
export const maxErrorLength = 2000;

/** The log stored with a run. The process's log has all lines. */
export const maxRunLog = { lines: 100, messageLength: 1000, fieldsLength: 2000 };
