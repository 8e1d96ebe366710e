import { z } from 'zod';

/** One configurable value: where it comes from, what it may be, and why. */
export interface Setting<T> {
  /** Environment variables that set it; the first one that is present counts. */
  env: readonly string[];
  default: T;
  schema: z.ZodType<T>;
  /** What is allowed, in words that finish the sentence "it must be …". */
  allowed: string;
  /** What it does, and what too low and too high cost. */
  about: string;
  /** Turns an environment variable's text into a candidate for `schema`. */
  fromText: (text: string) => unknown;
  /** How the value is shown to people; secrets are masked here. */
  show: (value: unknown) => string;
}

type Described<T> = Pick<Setting<T>, 'default' | 'about'> & { env: string | readonly string[] };

export function setting<T>(
  described: Described<T>,
  rest: Omit<Setting<T>, 'env' | 'default' | 'about' | 'show'> & { show?: (value: unknown) => string },
): Setting<T> {
  const env = typeof described.env === 'string' ? [described.env] : described.env;
  return { show: showPlain, ...described, ...rest, env };
}

/** Longer values are no values of a setting, and would bury the rest of the sentence. */
const maxShown = 200;

function showPlain(value: unknown): string {
  const text = typeof value === 'string' ? value : asText(value);
  return text.length <= maxShown ? text : `${text.slice(0, maxShown - 1)}…`;
}

function asText(value: unknown): string {
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    // It refers to itself, or holds what JSON has no word for.
    return typeof value === 'object' ? 'an object that cannot be shown' : String(value);
  }
}

export const listFromText = (text: string) =>
  text
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');

const numberFromText = (text: string) => (/^[+-]?\d+(\.\d+)?$/.test(text.trim()) ? Number(text) : text);

export function integer(
  described: Described<number> & { min: number; max: number; unit?: string },
): Setting<number> {
  const { min, max, unit, ...rest } = described;
  return setting(rest, {
    schema: z.number().int().min(min).max(max),
    allowed: `a whole number${unit ? ` of ${unit}` : ''} from ${min} to ${max}`,
    fromText: numberFromText,
  });
}

export function fraction(described: Described<number>): Setting<number> {
  return setting(described, {
    schema: z.number().min(0).max(1),
    allowed: 'a number from 0 to 1',
    fromText: numberFromText,
  });
}

export function flag(described: Described<boolean>): Setting<boolean> {
  const words: Record<string, boolean> = {
    true: true,
    1: true,
    on: true,
    false: false,
    0: false,
    off: false,
  };
  return setting(described, {
    schema: z.boolean(),
    allowed: 'true or false',
    fromText: (text) => {
      const word = text.trim().toLowerCase();
      return Object.hasOwn(words, word) ? words[word] : text;
    },
  });
}

export function choice<const T extends string>(described: Described<T> & { of: readonly T[] }): Setting<T> {
  const { of, ...rest } = described;
  return setting(rest, {
    schema: z.enum(of) as unknown as z.ZodType<T>,
    allowed: `one of ${of.join(', ')}`,
    fromText: (text) => text.trim(),
  });
}

export function host(described: Described<string>): Setting<string> {
  return setting(described, {
    schema: z.string().min(1),
    allowed: 'an address or host name',
    fromText: (text) => text.trim(),
  });
}
