import { type Logger, pino } from 'pino';
import { jsonWithoutSecrets } from '../secrets.ts';
import type { LogLine } from '../store/attempts.ts';

/** What is kept of a run's log. The process's own log has all of it. */
const mostLines = 100;
const longestMessage = 1000;
const longestFields = 2000;

export interface RunLog {
  /** For the connector: every line goes on to the process's log, and the first ones are kept. */
  logger(): Logger;
  /** What was kept, in storable form; undefined if nothing was logged. */
  lines(): LogLine[] | undefined;
}

/** Made only when the connector asks for it: most never log, and a logger costs. */
export function createRunLog(processLogger: () => Logger): RunLog {
  const lines: LogLine[] = [];
  let left = 0;
  let logger: Logger | undefined;

  function make(): Logger {
    const target = processLogger();
    const write = (text: string) => {
      const { level, time, msg, ...fields } = JSON.parse(text) as Record<string, unknown>;
      const name = pino.levels.labels[Number(level)] ?? 'info';
      const message = String(msg ?? '');
      target[name as 'info'](fields, message);
      if (lines.length >= mostLines) left++;
      else lines.push(line(new Date(Number(time)).toISOString(), name, message, fields));
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
  const shown = jsonWithoutSecrets(fields);
  return {
    at,
    level,
    message: storable(message.slice(0, longestMessage)),
    fields:
      shown.length > longestFields
        ? { omitted: `${shown.length} characters` }
        : (JSON.parse(storable(shown)) as Record<string, unknown>),
  };
}

/** What Postgres cannot hold becomes U+FFFD, as it does in signals. */
function storable(text: string): string {
  return Buffer.from(text)
    .toString()
    .replaceAll('\0', '\uFFFD')
    .replaceAll('\\u0000', '\\ufffd')
    .replaceAll(/\\u[dD][89a-fA-F][0-9a-fA-F]{2}/g, '\\ufffd');
}
