import { userInfo } from 'node:os';
import type { Command } from 'commander';
import type { AuditNote } from '../caller/audit.ts';
import { invalid, requireWhole } from '../values/arguments.ts';
import { isObject } from '../values/is-object.ts';

/** What options of several commands have in common. */

/** More would be a list that nobody reads. */
const maxListed = 1000;

export function wholeNumber(option: string, text: string, min: number, max: number): number {
  const value = /^-?\d+$/.test(text) ? Number(text) : text;
  requireWhole(option, value, min, max);
  return value as number;
}

/** The value is not shown: what a connector is told may be a secret. */
export function jsonObject(option: string, text: string): Record<string, unknown> {
  const value = parseJson(text);
  if (!isObject(value))
    throw invalid(
      `${option} is ${value === undefined ? 'not valid JSON' : 'JSON, but no object'}; it must be a JSON object such as '{"repository":"acme/app"}'.`,
    );
  return value;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export function withLimit(command: Command): Command {
  return command.option('--limit <n>', `how many to show, 1 to ${maxListed}`, '20');
}

export const limitOf = ({ limit }: { limit: string }) => wholeNumber('--limit', limit, 1, maxListed);

export function withDoer(command: Command): Command {
  return command
    .option('--reason <text>', 'why; kept with what was done')
    .option('--actor <name>', 'who does it; cli:<your user name> unless given');
}

export function doerOf({ actor = `cli:${userName()}`, reason }: AuditNote): AuditNote {
  return { actor, ...given({ reason }) };
}

/** In a container, a user may have a number and no name. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.()}`;
  }
}

/** Without what was not given. */
export function given<T extends object>(values: T): { [Key in keyof T]?: Exclude<T[Key], undefined> } {
  const entries = Object.entries(values).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as { [Key in keyof T]?: Exclude<T[Key], undefined> };
}
