/** The fenced blocks of a guide, as steps of a program. */
export type GuideStep =
  | { do: 'write'; file: string; text: string; line: number }
  | {
      do: 'run';
      commands: string;
      background: boolean;
      code: number;
      output: string | undefined;
      line: number;
    };

/**
 * "```ts name" is a file; "```sh" is run, and a following "```text" is its expected output, with … as a
 * wildcard. Words after `sh` mark a background command or the expected exit code.
 */
export function readGuide(markdown: string): GuideStep[] {
  const steps: GuideStep[] = [];
  for (const { 1: language = '', 2: words = '', 3: text = '', index } of markdown.matchAll(
    /^```(\w*) ?(.*)\n([\s\S]*?)^```$/gm,
  )) {
    const line = markdown.slice(0, index).split('\n').length;
    const last = steps.at(-1);
    if (language === 'text') {
      if (last?.do !== 'run' || last.output !== undefined)
        throw new Error(`line ${line}: output without a command`);
      last.output = text;
    } else if (language === 'sh') {
      const background = /^in a \w+ terminal$/.test(words);
      const code = Number(/^exits with (\d+)$/.exec(words)?.[1] ?? 0);
      steps.push({ do: 'run', commands: text, background, code, output: undefined, line });
    } else if (words !== '') steps.push({ do: 'write', file: words, text, line });
    else throw new Error(`line ${line}: a block that is neither a file nor a command`);
  }
  return steps;
}

/** Matches line by line; … matches any text within a line, or any lines if alone. */
export function outputPattern(expected: string): RegExp {
  const lines = expected.trim().split('\n');
  const pattern = lines.map((line) => (line === '…' ? '(?:.*\\n)*?' : `${linePattern(line)}\\n`));
  return new RegExp(`^${pattern.join('')}(?:\\s*)$`);
}

/** Matches as soon as a running program has printed the lines, in this order. */
export const waitPattern = (expected: string): RegExp =>
  new RegExp(expected.trim().split('\n').map(linePattern).join('[\\s\\S]*'));

const linePattern = (line: string) =>
  line
    .split('…')
    .map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'))
    .join('.*');
