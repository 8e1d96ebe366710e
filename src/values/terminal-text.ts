const lineBreaks = /[\t\n\v\f\r\u0085\u2028\u2029]+/g;
/** With ESC and bidirectional marks. */
const controls = /[\p{Cc}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

export function stripControl(text: string): string {
  return escapeControls(text.replaceAll(lineBreaks, ' '));
}

/** JSON escapes only the C0 controls. */
export function plainJson(value: unknown): string {
  return escapeControls(JSON.stringify(value));
}

const escapeControls = (text: string) =>
  text.replaceAll(controls, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
