import type { Config } from '../config/settings.ts';
import type { Vault } from '../credentials/index.ts';
import type { Queryable } from '../store/database.ts';

/** `error`: something that the engine promises does not hold, or will not. `warning`: somebody should look at it. */
export type Severity = 'error' | 'warning';

/** Something that is wrong, what that means, and what to do. */
export interface Finding {
  severity: Severity;
  message: string;
  /** A command, or SQL with the engine's schema on the search path. */
  remedy: string;
}

/** What a check goes by. */
export interface Circumstances {
  /** Refuses writes. */
  tx: Queryable;
  /** The database's time. */
  now: Date;
  /** How far the clock of this process is ahead of the database's. */
  clockSkewSeconds: number;
  config: Config;
  vault: Vault;
}

interface Looked {
  findings: Finding[];
  /** What was seen, in a few words. */
  detail?: string;
}

export interface Check {
  name: string;
  group: 'server' | 'schema' | 'fleet' | 'work' | 'data';
  /** Whether it can be done on a schema that is not this release's. */
  anySchema?: true;
  look(circumstances: Circumstances): Promise<Looked>;
}

export const error = (message: string, remedy: string): Finding => ({ severity: 'error', message, remedy });
export const warning = (message: string, remedy: string): Finding => ({
  severity: 'warning',
  message,
  remedy,
});

const maxNamed = 3;

/** The first few by name, and how many more: `a, b, c and 97 more`; a list that was cut off ends with `at least`. */
export function named(all: readonly string[], maxFound = 100): string {
  const rest = all.length - maxNamed;
  const more = all.length > maxFound ? `at least ${rest} more` : `${rest} more`;
  return rest > 0 ? `${all.slice(0, maxNamed).join(', ')} and ${more}` : all.join(', ');
}

/** `5 jobs`, or `more than 100 jobs` where a list was cut off. */
export function howMany(found: number, one: string, many = `${one}s`, maxFound = 100): string {
  if (found > maxFound) return `more than ${maxFound} ${many}`;
  return `${found} ${found === 1 ? one : many}`;
}
