import { type Logger, pino } from 'pino';

export interface LogLine {
  level: string;
  msg: string;
  [field: string]: unknown;
}

export function recordingLogger(level = 'info'): { log: Logger; lines: LogLine[] } {
  const lines: LogLine[] = [];
  const log = pino(
    { level, base: null, formatters: { level: (label) => ({ level: label }) } },
    { write: (text: string) => void lines.push(JSON.parse(text) as LogLine) },
  );
  return { log, lines };
}
