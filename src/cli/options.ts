import { userInfo } from 'node:os';
import type { Command } from 'commander';
import { invalidArgument, type SynclineError } from '../contract/errors.ts';
import type { AuditNote } from '../index.ts';
import { requireWhole, show } from '../values/arguments.ts';
import { isObject } from '../values/is-object.ts';
import { omitUndefined } from '../values/omit-undefined.ts';

const maxListed = 1000;

export function wholeNumber(option: string, text: string, min: number, max: number): number {
  const value = /^-?\d+$/.test(text) ? Number(text) : text;
  requireWhole(option, value, min, max);
  return value as number;
}

/** A configuration may hold secrets. */
export function jsonObject(option: string, text: string): Record<string, unknown> {
  const value = parseJson(text);
  if (!isObject(value))
    throw invalidArgument({
      field: option,
      expected: `a JSON object such as '{"repository":"acme/app"}'`,
      value: value === undefined ? 'invalid JSON' : 'JSON that is not an object',
    });
  return value;
}

export function unsetVariable(option: string, name: string): SynclineError {
  return invalidArgument({
    field: option,
    expected: 'the name of an environment variable that is set',
    value: show(name),
    hint: `Set it: export ${name.slice(0, 80)}=…`,
  });
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export function withLimit(command: Command): Command {
  return command.option('--limit <n>', `maximum number of results, 1 to ${maxListed}`, '20');
}

export const limitOf = ({ limit }: { limit: string }) => wholeNumber('--limit', limit, 1, maxListed);

export function withAuditNote(command: Command): Command {
  return command
    .option('--reason <text>', 'reason, stored in the audit log')
    .option('--actor <name>', 'actor, stored in the audit log (default: cli:<user name>)');
}

export function auditNoteOf({ actor = `cli:${userName()}`, reason }: AuditNote): AuditNote {
  return { actor, ...omitUndefined({ reason }) };
}

/** Container uids may lack a passwd entry. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.()}`;
  }
}
