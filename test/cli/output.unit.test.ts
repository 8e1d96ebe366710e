import { describe, expect, it } from 'vitest';
import { cut, table } from '../../src/cli/output.ts';
import { relativeTime } from '../../src/cli/time-text.ts';
import { stripControl } from '../../src/values/terminal-text.ts';
import { isoTime } from '../../src/values/time-text.ts';

describe('external text', () => {
  it.each([
    ['a colour', '\u001b[31mred\u001b[0m', '\\u001b[31mred\\u001b[0m'],
    ['a window title ended by BEL', '\u001b]0;mine\u0007', '\\u001b]0;mine\\u0007'],
    ['a C1 escape', '\u009b2J', '\\u009b2J'],
    ['a backspace', 'yes\b\b\bno', 'yes\\u0008\\u0008\\u0008no'],
    ['line breaks', 'one\r\n\ttwo\u2028three', 'one two three'],
    ['a bidirectional override', 'a\u202egnp.exe', 'a\\u202egnp.exe'],
    ['letters of any script', 'Grüße, 世界 🎉', 'Grüße, 世界 🎉'],
  ])('output: external text is escaped and joined to one line: %s', (_, text, shown) => {
    expect(stripControl(text)).toBe(shown);
    expect(stripControl(stripControl(text))).toBe(shown);
  });
});

describe('a table', () => {
  it('output: a table measures column widths after escaping', () => {
    expect(
      table([
        ['id', 'x'],
        ['\u001b', 'y'],
      ]),
    ).toEqual(['id      x', '\\u001b  y']);
  });

  it('output: a table cuts the last column to the width, to no less than 20 characters', () => {
    const rows = [['0123456789', 'x'.repeat(100)]];
    expect(table(rows, { width: 50 })[0]).toBe(`0123456789  ${'x'.repeat(37)}…`);
    expect(table(rows, { width: 5 })[0]).toBe(`0123456789  ${'x'.repeat(19)}…`);
    expect(table(rows)[0]).toBe(`0123456789  ${'x'.repeat(100)}`);
  });

  it('output: cut() does not split surrogate pairs', () => {
    expect(cut('ab🎉cd', 4)).toBe('ab…');
  });
});

describe('a time', () => {
  const nowMs = Date.parse('2025-01-01T12:00:00Z');
  it.each([
    ['2025-01-01T12:00:45Z', 'in 45 s'],
    ['2025-01-01T12:05:10Z', 'in 5 min'],
    ['2025-01-01T12:00:00Z', '0 s ago'],
    ['2025-01-01T09:00:00Z', '3 h ago'],
    ['2024-12-20T12:00:00Z', '12 days ago'],
  ])('output: the time %s is shown as "%s"', (at, shown) => {
    expect(relativeTime(new Date(at), nowMs)).toBe(shown);
  });

  it('output: a time counts as absent if a Date cannot represent it', () => {
    // The value that the driver returns for `infinity`.
    const infinity = Number.POSITIVE_INFINITY as unknown as Date;
    expect([relativeTime(infinity), isoTime(infinity), isoTime(undefined)]).toEqual(['-', null, null]);
  });
});
