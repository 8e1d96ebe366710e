const lineBreaks = /[\t\n\v\f\r\u0085\u2028\u2029]+/g;
/** Control characters, among them what begins an escape sequence, and marks that turn the direction of writing. */
const controls = /[\p{Cc}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

/** Text that others wrote, as one line that cannot do anything to a terminal. */
export function plain(text: string): string {
  return escaped(text.replaceAll(lineBreaks, ' '));
}

/** JSON that says the same and cannot do anything to a terminal: JSON itself escapes only the older half of the controls. */
export function plainJson(value: unknown): string {
  return escaped(JSON.stringify(value));
}

const escaped = (text: string) =>
  text.replaceAll(controls, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`);
