export const code = (text: string) => `\`${text}\``;

/** Text in which `<id>` is not an HTML tag, except in code. */
export const prose = (text: string) => text.replaceAll(/`[^`]*`|</g, (part) => (part === '<' ? '\\<' : part));

const cell = (text: string) => text.replaceAll('|', '\\|').replaceAll('\n', ' ');

export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map(cell).join(' | ')} |`;
  return [line(head), `|${head.map(() => '---').join('|')}|`, ...rows.map(line)].join('\n');
}

/** Replaces what is between the markers `<!-- generated: name -->` and `<!-- end: name -->`. */
export function fill(page: string, name: string, text: string): string {
  const [begin, end] = [`<!-- generated: ${name} -->\n`, `\n<!-- end: ${name} -->`];
  const [from, to] = [page.indexOf(begin), page.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`The page has no markers for "${name}".`);
  return `${page.slice(0, from + begin.length)}\n${text}\n${page.slice(to)}`;
}
