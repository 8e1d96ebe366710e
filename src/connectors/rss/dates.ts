/** In minutes; ambiguous names are omitted. */
const zones: Record<string, number> = {
  z: 0,
  ut: 0,
  utc: 0,
  gmt: 0,
  wet: 0,
  est: -300,
  edt: -240,
  cst: -360,
  cdt: -300,
  mst: -420,
  mdt: -360,
  pst: -480,
  pdt: -420,
  cet: 60,
  cest: 120,
  met: 60,
  mest: 120,
  eet: 120,
  eest: 180,
  msk: 180,
  jst: 540,
  kst: 540,
  aest: 600,
  aedt: 660,
};

const months = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];

/** `Wed, 2 Oct 02 13:00 EST`. */
const rfc822 =
  /^(?:[a-z]+\.?,?\s+)?(\d{1,2})[\s-]+([a-z]{3})[a-z]*\.?[\s-]+(\d{2}|\d{4})(?:[\s,]+(\d{1,2}):(\d{2})(?::(\d{2})(?:\.\d+)?)?)?\s*([a-z]+|(?:gmt|utc)?[+-]\d{2}:?\d{2})?(?:\s*\(.*\))?$/i;

/** Also with a space for the T. */
const iso8601 =
  /^(\d{4})-(\d{2})(?:-(\d{2})(?:[t\s]+(\d{2}):(\d{2})(?::(\d{2})(?:[.,]\d+)?)?\s*([a-z]+|[+-]\d{2}:?\d{2})?)?)?$/i;

/** Without a zone, UTC: Date.parse would use the machine's. */
export function parseDate(text: string | undefined): Date | undefined {
  const trimmed = text?.trim().slice(0, 100) ?? '';
  const rfc822Match = rfc822.exec(trimmed);
  if (rfc822Match) {
    const [, day = '', month = '', year = '', ...time] = rfc822Match;
    return dateOf(fullYear(year), months.indexOf(month.toLowerCase()), Number(day), time);
  }
  const isoMatch = iso8601.exec(trimmed);
  if (!isoMatch) return undefined;
  const [, year = '', month = '', day = '1', ...time] = isoMatch;
  return dateOf(Number(year), Number(month) - 1, Number(day), time);
}

const fullYear = (digits: string) => {
  const year = Number(digits);
  return digits.length === 4 ? year : year + (year < 70 ? 2000 : 1900);
};

function dateOf(year: number, month: number, day: number, time: (string | undefined)[]): Date | undefined {
  const [hours = '0', minutes = '0', seconds = '0', zone] = time;
  const offset = offsetMinutes(zone);
  if (offset === undefined || year < 1970 || year > 9998) return undefined;
  const date = new Date(
    Date.UTC(year, month, day, Number(hours), Number(minutes) - offset, Math.min(Number(seconds), 59)),
  );
  // Rejects February 31 and hour 25.
  const isReal = month >= 0 && month < 12 && Number(hours) < 24 && Number(minutes) < 60;
  return isReal && new Date(Date.UTC(year, month, day)).getUTCDate() === day ? date : undefined;
}

function offsetMinutes(zone: string | undefined): number | undefined {
  if (!zone) return 0;
  const [, sign, hours, minutes] = /([+-])(\d{2}):?(\d{2})$/.exec(zone) ?? [];
  if (!sign) return Object.hasOwn(zones, zone.toLowerCase()) ? zones[zone.toLowerCase()] : undefined;
  return (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes));
}
