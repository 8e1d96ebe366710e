import { invalidArgument } from '../contract/errors.ts';

/** The smallest UUIDv7 of a time: time ranges become id ranges. */
export function firstIdAt(name: string, at: Date | undefined): string | undefined {
  if (at === undefined) return undefined;
  const ms = at.getTime();
  if (!Number.isFinite(ms))
    throw invalidArgument({
      field: name,
      expected: 'a valid time',
      value: String(at),
      hint: 'Pass an ISO-8601 instant.',
    });
  const time = Math.min(Math.max(0, Math.floor(ms)), 2 ** 48 - 1)
    .toString(16)
    .padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-0000-0000-000000000000`;
}
