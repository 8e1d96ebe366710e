import { z } from '@hono/zod-openapi';
import { suggestion } from '../values/suggest.ts';

/** Suggests the closest known field. */
export function strict<Shape extends z.core.$ZodShape>(shape: Shape) {
  const known = Object.keys(shape);
  return z.strictObject(shape, {
    error: (issue) =>
      issue.code === 'unrecognized_keys' && known.length > 0
        ? suggestion(String(issue['keys'][0]).slice(0, 80), known)
        : undefined,
  });
}

const exampleId = '0198c1a2-5b7e-7d3c-8f00-4a1b2c3d4e5f';
const uuidPattern = /^[\da-fA-F]{8}(-[\da-fA-F]{4}){3}-[\da-fA-F]{12}$/;

export const id = () =>
  z.string().regex(uuidPattern, 'must be a UUID').openapi({ format: 'uuid', example: exampleId });

export const text = (maxLength: number) => {
  const message = `must be text of 1 to ${maxLength} characters`;
  return z.string().regex(/\S/, message).max(maxLength, message);
};

export const provider = () => text(200).openapi({ description: 'Provider slug.', example: 'github' });

export const reason = () =>
  text(1000).openapi({
    description: 'Reason, stored in the audit log.',
    example: 'maintenance at the provider',
  });

export const intInQuery = (
  min: number,
  max: number,
  about: { default?: number; description?: string } = {},
) =>
  z
    .string()
    .regex(/^-?\d{1,15}$/, `must be a whole number from ${min} to ${max}`)
    .transform(Number)
    .refine((value) => value >= min && value <= max, `must be a whole number from ${min} to ${max}`)
    .openapi({ type: 'integer', minimum: min, maximum: max, ...about });

export const flagInQuery = (about: { default: boolean; description: string }) =>
  z
    .enum(['true', 'false'])
    .transform((value) => value === 'true')
    .openapi({ type: 'boolean', ...about });

export const timeInQuery = (description: string) =>
  z.iso
    .datetime({ offset: true, error: 'must be a time such as 2025-01-01T12:00:00Z' })
    .transform((value) => new Date(value))
    .openapi({ type: 'string', format: 'date-time', description, example: '2025-01-01T12:00:00Z' });

export const pageQuery = {
  limit: intInQuery(1, 100, { default: 20, description: 'Maximum number of items per page.' }).optional(),
  cursor: text(2000).openapi({ description: '`next_cursor` of the previous page.' }).optional(),
};

export const time = () => z.string().openapi({ format: 'date-time', example: '2025-01-01T12:00:00.000Z' });

export const anyJson = (description: string) => z.unknown().openapi({ description });

/** `.nullable()` would change the shared component. */
export const orNull = <Schema extends z.ZodType>(schema: Schema) => z.union([schema, z.null()]);

export const listOf = <Item extends z.ZodType>(name: string, item: Item) =>
  z
    .object({
      items: z.array(item),
      next_cursor: z.string().nullable().openapi({
        description:
          'Cursor of the next page; null on the last one. A page may be short or empty and have a next one.',
      }),
    })
    .openapi(`${name}List`);

export function listJson<Item, Json>(
  page: { items: readonly Item[]; nextCursor: string | undefined },
  toJson: (item: Item) => Json,
) {
  return { items: page.items.map(toJson), next_cursor: page.nextCursor ?? null };
}

/** For exactOptionalPropertyTypes. */
export function omitUndefined<Values extends object>(values: Values) {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as {
    [Key in keyof Values]?: Exclude<Values[Key], undefined>;
  };
}
