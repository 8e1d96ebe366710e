import { type Logger, pino } from 'pino';
import { systemPorts } from '../platform/ports.ts';
import type { LogLine } from '../store/attempts.ts';
import { jsonWithoutSecrets } from '../values/redact.ts';

/** What is kept of a run's log. The process's own log has all of it. */
const maxLines = 100;
const maxMessage = 1000;
const maxFields = 2000;
/** What a Date can hold. */
const latestMs = 8.64e15;

export interface RunLog {
  /** For the connector: every line goes on to the process's log, and the first ones are kept. */
  logger(): Logger;
  /** What was kept, in storable form; undefined if nothing was logged. */
  lines(): LogLine[] | undefined;
}

/** Made only when the connector asks for it: most never log, and a logger costs. `hide` keeps secrets out of both logs. */
export function createRunLog(processLogger: () => Logger, hide = (text: string) => text): RunLog {
  const lines: LogLine[] = [];
  let left = 0;
  let logger: Logger | undefined;

  function make(): Logger {
    const target = processLogger();
    const write = (text: string) => {
      const { level, time, msg, ...fields } = JSON.parse(text) as Record<string, unknown>;
      // An author's own field of one of these names comes after ours and hides it: then it may be anything.
      const at = new Date(typeof time === 'number' && Math.abs(time) <= latestMs ? time : systemPorts.now());
      const name = pino.levels.labels[Number(level)] ?? 'info';
      const message = hide(String(msg ?? ''));
      const shown = mapTexts(JSON.parse(jsonWithoutSecrets(fields)), hide) as Record<string, unknown>;
      target[name as 'info'](shown, message);
      if (lines.length >= maxLines) left++;
      else lines.push(line(at.toISOString(), name, message, shown));
    };
    return pino({ level: 'debug', base: null }, { write });
  }

  return {
    logger: () => {
      logger ??= make();
      return logger;
    },
    lines: () => {
      if (lines.length === 0) return undefined;
      const at = lines.at(-1)?.at as string;
      return left === 0 ? lines : [...lines, line(at, 'info', `… and ${left} more lines`, {})];
    },
  };
}

function line(at: string, level: string, message: string, fields: Record<string, unknown>): LogLine {
  const { length } = JSON.stringify(fields);
  return {
    at,
    level,
    message: storable(message.slice(0, maxMessage)),
    fields:
      length > maxFields
        ? { omitted: `${length} characters` }
        : (mapTexts(fields, storable) as Record<string, unknown>),
  };
}

/** What Postgres cannot hold becomes U+FFFD, as it does in signals. */
const storable = (text: string) => Buffer.from(text).toString().replaceAll('\0', '\uFFFD');

function mapTexts(value: unknown, change: (text: string) => string): unknown {
  if (typeof value === 'string') return change(value);
  if (Array.isArray(value)) return value.map((one) => mapTexts(one, change));
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value);
  return Object.fromEntries(entries.map(([key, inner]) => [change(key), mapTexts(inner, change)]));
}
