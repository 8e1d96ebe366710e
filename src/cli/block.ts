import { terminal } from './terminal.ts';

export type BlockRow = [label: string, text: string];

/** The first row is bold in a terminal. */
export function printBlock(rows: BlockRow[]): void {
  const { stdout, env } = terminal();
  const isStyled = stdout.isTTY === true && !env['NO_COLOR'];
  const style = (code: number, text: string) => (isStyled ? `\x1b[${code}m${text}\x1b[0m` : text);
  const width = Math.max(...rows.map(([label]) => label.length));
  const lines = rows.map(
    ([label, text], i) => `  ${style(2, label.padEnd(width))}  ${i === 0 ? style(1, text) : text}\n`,
  );
  stdout.write(`\n${lines.join('')}\n`);
}
