import { createHash } from 'node:crypto';

/** The log of one simulation; its hash compares two runs of a seed. */
export interface Trace {
  step(line: string): void;
  /** A log message. It may name ports and servers, so it is not part of the hash. */
  remark(line: string): void;
  hash(): string;
  steps(): number;
  lines(): readonly string[];
}

export function createTrace(now: () => number): Trace {
  const startMs = now();
  const lines: string[] = [];
  const hash = createHash('sha256');
  let steps = 0;
  const write = (mark: string, line: string) => {
    const at = ((now() - startMs) / 1000).toFixed(3).padStart(10);
    lines.push(`${at} ${mark} ${line}`);
    return `${at} ${line}\n`;
  };
  return {
    step: (line) => {
      steps++;
      hash.update(write(' ', line));
    },
    remark: (line) => void write('·', line),
    hash: () => hash.copy().digest('hex').slice(0, 16),
    steps: () => steps,
    lines: () => lines,
  };
}
