import type { Config } from '../config/settings.ts';
import type { Vault } from '../credentials/index.ts';
import type { Queryable } from '../store/database.ts';

/** `error`: a guarantee fails, or will. */
export type Severity = 'error' | 'warning';

export interface Finding {
  severity: Severity;
  message: string;
  /** Command or SQL. */
  remedy: string;
}

export interface CheckContext {
  tx: Queryable;
  now: Date;
  /** This process's clock minus the database's. */
  clockSkewSeconds: number;
  config: Config;
  vault: Vault;
}

interface CheckReport {
  findings: Finding[];
  detail?: string;
}

export interface Check {
  name: string;
  group: 'server' | 'schema' | 'fleet' | 'work' | 'data';
  /** Also runs on other releases' schemas. */
  anySchema?: true;
  run(context: CheckContext): Promise<CheckReport>;
}

export const error = (message: string, remedy: string): Finding => ({ severity: 'error', message, remedy });
export const warning = (message: string, remedy: string): Finding => ({
  severity: 'warning',
  message,
  remedy,
});

const maxNamed = 3;

/** `at least` if truncated. */
export function formatList(all: readonly string[], maxFound = 100): string {
  const rest = all.length - maxNamed;
  const more = all.length > maxFound ? `at least ${rest} more` : `${rest} more`;
  return rest > 0 ? `${all.slice(0, maxNamed).join(', ')} and ${more}` : all.join(', ');
}

export function formatCount(
  found: number,
  singular: string,
  plural = `${singular}s`,
  maxFound = 100,
): string {
  if (found > maxFound) return `more than ${maxFound} ${plural}`;
  return `${found} ${found === 1 ? singular : plural}`;
}

export const idList = (ids: readonly string[]) =>
  ids
    .slice(0, 100)
    .map((id) => `'${id}'`)
    .join(', ');
