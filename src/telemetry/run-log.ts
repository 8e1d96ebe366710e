import { type Logger, pino } from 'pino';
import type { LogLine } from '../store/attempts.ts';
import { maxRunLog } from '../values/limits.ts';
import { jsonWithoutSecrets } from '../values/redact.ts';

/** The range of Date. */
const maxDateMs = 8.64e15;

interface RunLog {
  logger(): Logger;
  lines(): LogLine[] | undefined;
}

/** Created on first use: few connectors log. */
export function createRunLog(
  processLogger: () => Logger,
  { now, redact = (text) => text }: { now: () => number; redact?: (text: string) => string },
): RunLog {
  const lines: LogLine[] = [];
  let dropped = 0;
  let logger: Logger | undefined;

  function createRunLogger(): Logger {
    const target = processLogger();
    const write = (text: string) => {
      const { level, time, msg, ...fields } = JSON.parse(text) as Record<string, unknown>;
      // A connector's field overrides pino's, with any type.
      const at = new Date(typeof time === 'number' && Math.abs(time) <= maxDateMs ? time : now());
      const name = pino.levels.labels[Number(level)] ?? 'info';
      const message = redact(String(msg ?? ''));
      const shown = mapTexts(JSON.parse(jsonWithoutSecrets(fields)), redact) as Record<string, unknown>;
      target[name as 'info'](shown, message);
      if (lines.length >= maxRunLog.lines) dropped++;
      else lines.push(line(at.toISOString(), name, message, shown));
    };
    return pino({ level: 'debug', base: null }, { write });
  }

  return {
    logger: () => {
      logger ??= createRunLogger();
      return logger;
    },
    lines: () => {
      if (lines.length === 0) return undefined;
      const at = lines.at(-1)?.at as string;
      return dropped === 0 ? lines : [...lines, line(at, 'info', `… and ${dropped} more lines`, {})];
    },
  };
}

function line(at: string, level: string, message: string, fields: Record<string, unknown>): LogLine {
  const { length } = JSON.stringify(fields);
  return {
    at,
    level,
    message: storable(message.slice(0, maxRunLog.messageLength)),
    fields:
      length > maxRunLog.fieldsLength
        ? { omitted: `${length} characters` }
        : (mapTexts(fields, storable) as Record<string, unknown>),
  };
}

/** NUL and lone surrogates become U+FFFD, as in signals. */
const storable = (text: string) => Buffer.from(text).toString().replaceAll('\0', '\uFFFD');

function mapTexts(value: unknown, change: (text: string) => string): unknown {
  if (typeof value === 'string') return change(value);
  if (Array.isArray(value)) return value.map((item) => mapTexts(item, change));
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value);
  return Object.fromEntries(entries.map(([key, inner]) => [change(key), mapTexts(inner, change)]));
}
