import { expect } from 'vitest';
import type { DoctorReport } from '../../src/index.ts';

/** The findings of one check, which must have been made. */
export function findingsIn({ checks }: DoctorReport, name: string) {
  const check = checks.find((one) => one.name === name);
  if (!check) throw new Error(`there is no check "${name}"`);
  expect(check.detail ?? '').not.toMatch(/^could not look/);
  return check.findings;
}

export const finding = (severity: string, message: RegExp, remedy: RegExp) => ({
  severity,
  message: expect.stringMatching(message),
  remedy: expect.stringMatching(remedy),
});
