import { expect } from 'vitest';
import type { DoctorReport } from '../../src/index.ts';

/** The findings of one check; fails if the check is missing or could not run. */
export function findingsIn({ checks }: DoctorReport, name: string) {
  const check = checks.find((candidate) => candidate.name === name);
  if (!check) throw new Error(`there is no check "${name}"`);
  expect(check.detail ?? '').not.toMatch(/^could not run/);
  return check.findings;
}

export const finding = (severity: string, message: RegExp, remedy: RegExp) => ({
  severity,
  message: expect.stringMatching(message),
  remedy: expect.stringMatching(remedy),
});
