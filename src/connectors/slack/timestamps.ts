import { z } from 'zod';

/** `1767225600.000100`; as integers, since floats lose digits. */
export const timestamp = z.string().regex(/^\d{1,12}\.\d{6}$/, 'a timestamp such as 1767225600.000100');

function microsecondsOf(ts: string): bigint {
  return BigInt(ts.replace('.', ''));
}

export function isLater(ts: string, other: string | undefined): boolean {
  return other === undefined || microsecondsOf(ts) > microsecondsOf(other);
}

export function latestOf(all: readonly (string | undefined)[]): string | undefined {
  return all.reduce((latest, ts) => (ts !== undefined && isLater(ts, latest) ? ts : latest), undefined);
}

export function earlier(ts: string, seconds: number): string;
export function earlier(ts: string | undefined, seconds: number): string | undefined;
export function earlier(ts: string | undefined, seconds: number): string | undefined {
  if (ts === undefined) return undefined;
  const shifted = microsecondsOf(ts) - BigInt(seconds) * 1_000_000n;
  const digits = (shifted > 0n ? shifted : 0n).toString().padStart(7, '0');
  return `${digits.slice(0, -6)}.${digits.slice(-6)}`;
}

export function dateOf(ts: string): Date {
  return new Date(Number(microsecondsOf(ts) / 1000n));
}
