import { z } from 'zod';
import { uuidPattern } from './uuid.ts';

/**
 * The schemas describe library values (camelCase, Date, undefined); `jsonOf` derives the JSON of API and CLI
 * (snake_case, ISO-8601, null).
 */

// Building a schema takes about 20 µs, and every command loads them.
export const uuid = z
  .string()
  .regex(uuidPattern, 'must be a UUID')
  .meta({ format: 'uuid', example: '0198c1a2-5b7e-7d3c-8f00-4a1b2c3d4e5f' });

export const text = (maxLength: number) => {
  const message = `must be text of 1 to ${maxLength} characters`;
  return z.string().regex(/\S/, message).max(maxLength, message);
};

export const providerSlug = text(200).meta({ description: 'Provider slug.', example: 'github' });
export const providerText = z.string().meta({ example: 'github' });

/** A union that the OpenAPI document does not list. */
export const textOf = <T extends string>() => z.string() as unknown as z.ZodType<T>;

export const time = z.date();

/** Text in the library as well. */
export const isoText = z.string().meta({ format: 'date-time', example: '2025-01-01T12:00:00.000Z' });

const absent = z.undefined();

/** Undefined in the library, null in JSON. An `.optional()` field is missing from both. */
export const maybe = <T>(schema: z.ZodType<T>) =>
  z.union([schema, absent]) as unknown as z.ZodType<T | undefined>;

export const maybeUuid = maybe(uuid);
export const maybeTime = maybe(time);
export const maybeText = maybe(z.string());

type SnakeCase<Key> = Key extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${SnakeCase<Rest>}`
  : Key;

/** The JSON of a library value: snake_case, ISO-8601, null. */
export type Json<T> = unknown extends T
  ? T
  : T extends undefined
    ? null
    : T extends Date
      ? string
      : T extends readonly (infer Item)[]
        ? Json<Item>[]
        : T extends object
          ? {
              [Key in keyof T as SnakeCase<Key>]: Json<
                object extends Pick<T, Key> ? Exclude<T[Key], undefined> : T[Key]
              >;
            }
          : T;

/** Converts a value to its JSON; `schema` describes that JSON. */
export interface ToJson<Value, Shown> {
  (value: Value): Json<Shown>;
  /** Of the JSON, in camelCase. */
  readonly schema: z.ZodType<Shown>;
}

type Computed<Value, Shown> = {
  [Key in keyof Shown as Key extends keyof Value ? (Value[Key] extends Shown[Key] ? never : Key) : Key]: (
    value: Value,
  ) => Shown[Key];
} & { [Key in keyof Shown]?: (value: Value) => Shown[Key] };

export function jsonOf<Model extends z.ZodObject>(model: Model): ToJson<z.output<Model>, z.output<Model>>;
/** For JSON that differs from the library. */
export function jsonOf<Model extends z.ZodObject, Shown extends z.ZodObject>(
  model: Model,
  shown: Shown,
  computed: Computed<z.output<Model>, z.output<Shown>>,
): ToJson<z.output<Model>, z.output<Shown>>;
export function jsonOf(model: z.ZodObject, shown = model, computed: Getters = {}): ToJson<unknown, unknown> {
  let convert: Convert | undefined;
  const toJson = (value: unknown) => {
    convert ??= objectConverter(shown, computed);
    return convert(value) as Json<unknown>;
  };
  return Object.assign(toJson, { schema: shown });
}

type Getters = Readonly<Record<string, ((value: never) => unknown) | undefined>>;
type Convert = (value: unknown) => unknown;

export const snakeCase = (key: string) => key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

export function maybeOf(schema: z.core.$ZodType): z.ZodType | undefined {
  if (!(schema instanceof z.ZodUnion)) return undefined;
  const [inner, absent] = schema.options as z.ZodType[];
  return absent instanceof z.ZodUndefined ? inner : undefined;
}

const iso = (at: Date) => (Number.isNaN(at.getTime()) ? '' : at.toISOString());

/** Undefined: no conversion. Responses are not parsed. */
function converterOf(schema: z.core.$ZodType): Convert | undefined {
  const inner = maybeOf(schema);
  if (inner) return converterOf(inner);
  if (schema instanceof z.ZodOptional) return converterOf(schema.unwrap());
  if (schema instanceof z.ZodDate) return iso as Convert;
  if (schema instanceof z.ZodArray) return arrayConverter(converterOf(schema.element));
  if (schema instanceof z.ZodObject) return objectConverter(schema);
  return undefined;
}

const arrayConverter = (convert: Convert | undefined): Convert | undefined =>
  convert && ((items) => (items as unknown[]).map((item) => convert(item)));

function objectConverter({ shape }: z.ZodObject, computed: Getters = {}): Convert {
  const fields = Object.entries(shape).map(([key, field]) => ({
    key,
    name: snakeCase(key),
    isOptional: field instanceof z.ZodOptional,
    get: computed[key] as Convert | undefined,
    convert: converterOf(field),
  }));
  const required = fields.filter(({ isOptional }) => !isOptional);
  // Cloning a parsed object is several times faster than adding its keys in a loop.
  const nulls = JSON.parse(
    JSON.stringify(Object.fromEntries(required.map(({ name }) => [name, null]))),
  ) as Record<string, unknown>;
  return (value) => {
    const json = { ...nulls };
    for (const { key, name, get, convert } of fields) {
      const inner = get ? get(value) : (value as Record<string, unknown>)[key];
      if (inner !== undefined) json[name] = convert && inner !== null ? convert(inner) : inner;
    }
    return json;
  };
}
