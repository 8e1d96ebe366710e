/** Text as a plot needs it: safe to write, of known width, and numbers that are quick to read. */

const escapes: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Also without the characters that XML has no way to write. */
export function escapeText(text: string): string {
  return text
    .replaceAll(/[\p{Cc}\p{Cs}\ufffe\uffff]/gu, ' ')
    .replaceAll(/[&<>"']/g, (character) => escapes[character] as string);
}

/** At most: which font the reader has is unknown, so this is that of the widest usual one. */
export function textWidth(text: string, fontSize: number): number {
  let em = 0;
  for (const character of text) {
    if (/[ijlI.,:;'|!()[\]ftr /-]/.test(character)) em += 0.41;
    else if (/[mwMW@%→]/.test(character)) em += 0.98;
    else if (/[A-Z&+=<>]/.test(character)) em += 0.76;
    else em += /[\u0020-\u024f–]/.test(character) ? 0.64 : 1.05;
  }
  return em * fontSize;
}

/** Lines that are no wider than that, broken between words where there are any. */
export function wrap(text: string, fontSize: number, width: number): string[] {
  const lines: string[] = [];
  let line = '';
  const fits = (candidate: string) => textWidth(candidate, fontSize) <= width;
  for (const word of text.split(/\s+/).filter(Boolean)) {
    if (line !== '' && !fits(`${line} ${word}`)) {
      lines.push(line);
      line = '';
    }
    line = line === '' ? '' : `${line} `;
    for (const character of word) {
      if (line !== '' && !fits(line + character)) {
        lines.push(line);
        line = '';
      }
      line += character;
    }
  }
  return line === '' ? lines : [...lines, line];
}

export type Format = (value: number) => string;

/** As exact as anybody reads: 12,345 or 12.3 or 0.0123. */
export const figure: Format = (value) =>
  Math.abs(value) >= 100 ? Math.round(value).toLocaleString('en-US') : String(Number(value.toPrecision(3)));

/** The same format, with words for what is no number. */
export function orNotMeasured(format: Format): Format {
  return (value) => (Number.isFinite(value) ? format(value) : 'not measured');
}

/** For axes: 500, 2k, 1.5M. */
export function shortFigure(value: number): string {
  const [divisor, suffix] =
    [[1e9, 'G'] as const, [1e6, 'M'] as const, [1e3, 'k'] as const].find(
      ([least]) => Math.abs(value) >= least,
    ) ?? ([1, ''] as const);
  return `${Number((value / divisor).toPrecision(6))}${suffix}`;
}
