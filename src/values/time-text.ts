/** For JSON. Postgres knows times that no Date can be, such as `infinity`; those count as absent. */
export function isoTime(at: Date | undefined): string | null {
  return isTime(at) ? at.toISOString() : null;
}

export function isTime(at: Date | undefined): at is Date {
  return at instanceof Date && Number.isFinite(at.getTime());
}
