import { createHash } from 'node:crypto';

/** Everything that happened in one simulation, for people and for comparing two runs of a seed. */
export interface Trace {
  /** A step that the seed chose, or what came of it. Part of the hash. */
  step(line: string): void;
  /** What somebody said about it. Names ports and servers, so it is no part of the hash. */
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
