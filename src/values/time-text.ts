/** Null for `infinity`. */
export function isoTime(at: Date | undefined): string | null {
  return isTime(at) ? at.toISOString() : null;
}

export function isTime(at: Date | undefined): at is Date {
  return at instanceof Date && Number.isFinite(at.getTime());
}
