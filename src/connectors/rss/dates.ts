/** Minutes from UTC of names that feeds use; those that mean different things to different people are not among them. */
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

/** RFC 822 and its relatives: `Wed, 2 Oct 02 13:00 EST`, `2 October 2002 13:00:00 +0200`. */
const rfc822 =
  /^(?:[a-z]+\.?,?\s+)?(\d{1,2})[\s-]+([a-z]{3})[a-z]*\.?[\s-]+(\d{2}|\d{4})(?:[\s,]+(\d{1,2}):(\d{2})(?::(\d{2})(?:\.\d+)?)?)?\s*([a-z]+|(?:gmt|utc)?[+-]\d{2}:?\d{2})?(?:\s*\(.*\))?$/i;

/** ISO 8601, as far as feeds use it, also with a blank for the T and without a zone. */
const iso8601 =
  /^(\d{4})-(\d{2})(?:-(\d{2})(?:[t\s]+(\d{2}):(\d{2})(?::(\d{2})(?:[.,]\d+)?)?\s*([a-z]+|[+-]\d{2}:?\d{2})?)?)?$/i;

/**
 * When a feed says that something happened; undefined where nobody can tell. By its own rules: what the platform makes of such
 * texts depends on the zone of the machine. A time without a zone is taken for UTC.
 */
export function parseDate(text: string | undefined): Date | undefined {
  const trimmed = text?.trim().slice(0, 100) ?? '';
  const ofMail = rfc822.exec(trimmed);
  if (ofMail) {
    const [, day = '', month = '', year = '', ...time] = ofMail;
    return dateOf(fullYear(year), months.indexOf(month.toLowerCase()), Number(day), time);
  }
  const ofIso = iso8601.exec(trimmed);
  if (!ofIso) return undefined;
  const [, year = '', month = '', day = '1', ...time] = ofIso;
  return dateOf(Number(year), Number(month) - 1, Number(day), time);
}

/** Two digits are of this century up to 69, as everywhere. */
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
  // The 31st of February would be a day in March, and the 25th hour one of the next day.
  const isReal = month >= 0 && month < 12 && Number(hours) < 24 && Number(minutes) < 60;
  return isReal && new Date(Date.UTC(year, month, day)).getUTCDate() === day ? date : undefined;
}

function offsetMinutes(zone: string | undefined): number | undefined {
  if (!zone) return 0;
  const [, sign, hours, minutes] = /([+-])(\d{2}):?(\d{2})$/.exec(zone) ?? [];
  if (!sign) return Object.hasOwn(zones, zone.toLowerCase()) ? zones[zone.toLowerCase()] : undefined;
  return (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes));
}
