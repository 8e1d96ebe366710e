import { hostileTexts } from '../http/hostile-values.ts';
import type { Chance } from '../http/random.ts';

const names = [
  '__proto__',
  'constructor',
  'toString',
  'sync',
  'cursor',
  'interval_seconds',
  '',
  'a',
  '💥',
  '\u001b[31m',
];
const numbers = [
  '0',
  '-0',
  '59',
  '60',
  '60.0',
  '6e1',
  '86400',
  '86401',
  '1.5',
  '1e308',
  '1e400',
  '-1e400',
  '1e-400',
  '9007199254740993',
  '-1',
];
const times = [
  '2025-01-01T00:00:00Z',
  '2025-01-01T00:00:00.5+02:00',
  '0001-01-01T00:00:00Z',
  '9999-12-31T23:59:59Z',
  '9999-12-31T23:59:59.999999999-15:59',
  '2025-02-30T00:00:00Z',
  '2025-01-01T24:00:00Z',
  '2025-01-01T00:00:00',
  '+275760-09-13T00:00:00Z',
  '-271821-04-20T00:00:00Z',
  '2025-01-01T00:00:00+16:00',
  ' 2025-01-01T00:00:00Z',
  'infinity',
];

/** Removes characters that Postgres cannot store. */
const storable = (text: string) => text.replaceAll('\0', '').replaceAll(/\p{Surrogate}/gu, '');
const text = (chance: Chance) => JSON.stringify(storable(chance.pick([...hostileTexts, ...times])));

function value(chance: Chance, depth = 0): string {
  const choice = chance.below(depth > 4 ? 4 : 7);
  if (choice === 0) return text(chance);
  if (choice === 1) return chance.pick(numbers);
  if (choice === 2) return chance.pick(['null', 'true', 'false', '[]', '{}']);
  if (choice === 3) return JSON.stringify(chance.pick(times));
  if (choice === 4) return `[${several(chance, () => value(chance, depth + 1))}]`;
  if (choice === 5)
    return `{${several(chance, () => `${JSON.stringify(chance.pick(names))}:${value(chance, depth + 1)}`)}}`;
  const levels = 1 + chance.below(300);
  return `${'['.repeat(levels)}${']'.repeat(levels)}`;
}

const several = (chance: Chance, make: () => string) =>
  Array.from({ length: chance.below(4) }, make).join(',');

const field: Record<string, (chance: Chance) => string> = {
  interval_seconds: (chance) => chance.pick(numbers),
  next_run_at: (chance) => JSON.stringify(chance.pick(times)),
  first_activated_at: (chance) => JSON.stringify(chance.pick(times)),
  last_jitter_seconds: (chance) => chance.pick(numbers),
  cursor: (chance) => value(chance),
};

export function generateDocument(chance: Chance): string {
  if (chance.percent(10)) return value(chance);
  const fields = Object.entries(field)
    .filter(() => chance.percent(55))
    .map(([name, typed]) => `"${name}":${chance.percent(75) ? typed(chance) : value(chance)}`);
  const others = Array.from(
    { length: chance.below(3) },
    () => `${JSON.stringify(chance.pick(names.slice(0, 3)))}:${value(chance)}`,
  );
  const sync = chance.percent(90) ? `{${[...fields, ...others].join(',')}}` : value(chance);
  const beside = Array.from(
    { length: chance.below(3) },
    () => `"theirs ${chance.below(5)}":${value(chance)}`,
  );
  return `{${[...beside, `"sync":${sync}`].join(',')}}`;
}

/** The expected reading of a document, computed without the engine. */
export interface Meaning {
  isLater: boolean;
  interval: number;
  /** The interval is invalid and is replaced by the default. */
  isIntervalInvalid: boolean;
  cursor: unknown;
}

const isObject = (input: unknown): input is Record<string, unknown> =>
  typeof input === 'object' && input !== null && !Array.isArray(input);
const ownOf = (object: unknown, name: string): unknown =>
  isObject(object) && Object.hasOwn(object, name) ? object[name] : undefined;

/** jsonb has no negative zero. */
const asStored = (document: string): unknown =>
  JSON.parse(document, (_key, inner: unknown) => (inner === 0 ? 0 : inner));

export function meaningOf(document: string): Meaning {
  const sync = ownOf(asStored(document), 'sync');
  const interval = ownOf(sync, 'interval_seconds');
  const isValid = typeof interval === 'number' && interval % 1 === 0 && interval >= 60 && interval <= 86_400;
  const next = ownOf(sync, 'next_run_at');
  return {
    // The only valid times above that are in the future.
    isLater: typeof next === 'string' && /^9999-12-31T23:59:59(Z|\.9{9}-15:59)$/.test(next),
    interval: isValid ? interval : 900,
    isIntervalInvalid: !isValid && interval !== undefined && interval !== null,
    cursor: ownOf(sync, 'cursor') ?? undefined,
  };
}
