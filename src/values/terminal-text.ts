const lineBreaks = /[\t\n\v\f\r\u0085\u2028\u2029]+/g;
/** Control characters, including ESC, and bidirectional marks. */
const controls = /[\p{Cc}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

/** Untrusted text as one line without terminal control characters. */
export function plain(text: string): string {
  return escapeControls(text.replaceAll(lineBreaks, ' '));
}

/** Terminal-safe JSON. JSON itself escapes only the C0 controls. */
export function plainJson(value: unknown): string {
  return escapeControls(JSON.stringify(value));
}

const escapeControls = (text: string) =>
  text.replaceAll(controls, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
