/** Limits of HTTP requests are in `http/context.ts`. */

/** Deep nesting overflows the stack. */
export const maxDepth = {
  /** API arguments and request bodies. */
  argument: 100,
  /** Connectors' payloads and cursors. */
  result: 500,
  /** Other writers may nest deeper. */
  stored: 1000,
  /** Connector descriptions. */
  description: 40,
  /** RSS and Atom. */
  feed: 100,
};

/** Per page; a process holds `executor.concurrency` of them. */
export const maxResult = {
  signals: 100_000,
  /** All payloads, as JSON. */
  pageBytes: 32 * 1024 * 1024,
  /** As JSON; a larger one becomes `$oversize`. */
  payloadBytes: 1024 * 1024,
  cursorBytes: 256 * 1024,
  kindLength: 200,
  /** Near the index entry limit; longer keys are hashed. */
  dedupeKeyBytes: 1000,
};

export const maxResponse = {
  bytes: 32 * 1024 * 1024,
  errorBytes: 64 * 1024,
  /** Before parsing: millions of values take seconds and gigabytes. */
  jsonValues: 2_000_000,
};

export const maxDescription = { bytes: 1024 * 1024, values: 20_000 };

/** 50 per item of a feed. */
export const maxFeedElements = 1_000_000;

export const maxTokenResponseBytes = 128 * 1024;

/** `config` and `metadata`, each: list pages hold them in memory. */
export const maxConfigBytes = 64 * 1024;

/** Range of `smallint`. */
export const priorities = { min: -32_768, max: 32_767 };

export const maxSecretBytes = 64 * 1024;

/** A page is built in memory. */
export const maxPageItems = 100;

/** A larger row gets its own page. */
export const maxPageBytes = 8 * 1024 * 1024;

/** Names from other tables are truncated: `maxPageBytes` does not count them. */
export const maxNameLength = 500;

/** Of a process; another writer's row may name more. */
export const maxProviders = 1000;

/** The job has the complete cursor. */
export const maxEventCursorBytes = 2048;

/** Some are whole HTML pages. */
export const maxErrorLength = 2000;

/** The process's log has all lines. */
export const maxRunLog = { lines: 100, messageLength: 1000, fieldsLength: 2000 };

/** Longer JSON in `connections.schedule` cannot be valid. */
export const maxScheduleLength = 500;
