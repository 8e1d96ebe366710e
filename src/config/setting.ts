import { z } from 'zod';

export interface Setting<T> {
  /** The first one set wins. */
  env: readonly string[];
  default: T;
  schema: z.ZodType<T>;
  /** Completes "it must be …". */
  allowed: string;
  /** The cost of too low and too high values. */
  about: string;
  fromText: (text: string) => unknown;
  /** Masks secrets. */
  show: (value: unknown) => string;
}

type Description<T> = Pick<Setting<T>, 'default' | 'about'> & { env: string | readonly string[] };

export function setting<T>(
  description: Description<T>,
  rest: Omit<Setting<T>, 'env' | 'default' | 'about' | 'show'> & { show?: (value: unknown) => string },
): Setting<T> {
  const env = typeof description.env === 'string' ? [description.env] : description.env;
  return { show: showPlain, ...description, ...rest, env };
}

const maxShown = 200;

function showPlain(value: unknown): string {
  if (value === undefined) return '(not set)';
  const text = typeof value === 'string' ? value : asText(value);
  return text.length <= maxShown ? text : `${text.slice(0, maxShown - 1)}…`;
}

function asText(value: unknown): string {
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    // A circular reference, or a BigInt.
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
  description: Description<number> & { min: number; max: number; unit?: string },
): Setting<number> {
  const { min, max, unit, ...rest } = description;
  return setting(rest, {
    schema: z.number().int().min(min).max(max),
    allowed: `a whole number${unit ? ` of ${unit}` : ''} from ${min} to ${max}`,
    fromText: numberFromText,
  });
}

export function fraction(description: Description<number>): Setting<number> {
  return setting(description, {
    schema: z.number().min(0).max(1),
    allowed: 'a number from 0 to 1',
    fromText: numberFromText,
  });
}

export function flag(description: Description<boolean>): Setting<boolean> {
  const words: Record<string, boolean> = {
    true: true,
    1: true,
    on: true,
    false: false,
    0: false,
    off: false,
  };
  return setting(description, {
    schema: z.boolean(),
    allowed: 'true or false',
    fromText: (text) => {
      const word = text.trim().toLowerCase();
      return Object.hasOwn(words, word) ? words[word] : text;
    },
  });
}

export function choice<const T extends string>(
  description: Description<T> & { of: readonly T[] },
): Setting<T> {
  const { of, ...rest } = description;
  return setting(rest, {
    schema: z.enum(of) as unknown as z.ZodType<T>,
    allowed: `one of ${of.join(', ')}`,
    fromText: (text) => text.trim(),
  });
}

export function host(description: Description<string>): Setting<string> {
  return setting(description, {
    schema: z.string().min(1),
    allowed: 'an address or host name',
    fromText: (text) => text.trim(),
  });
}
