/** As `parse_instant` in SQL: ISO-8601 with offset, years 0001 to 9999. */
const isoInstant =
  /^(\d{4})-(\d\d)-(\d\d)T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,9})?(?:Z|[+-](?:0\d|1[0-5]):[0-5]\d)$/;

/** Never throws. */
export function parseInstant(value: unknown): number | undefined {
  const match = typeof value === 'string' ? isoInstant.exec(value) : null;
  if (!match) return undefined;
  const [text, year, month, day] = match;
  return isCalendarDay(Number(year), Number(month), Number(day)) ? Date.parse(text) : undefined;
}

/** `Date.parse` accepts February 30th. */
export function isCalendarDay(year: number, month: number, day: number): boolean {
  if (year < 1 || month < 1 || month > 12 || day < 1) return false;
  const leap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
  const days = [31, leap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1];
  return days !== undefined && day <= days;
}

export function formatInstant(ms: number): string {
  return new Date(ms).toISOString();
}
