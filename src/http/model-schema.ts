import { z } from '@hono/zod-openapi';
import { type Json, maybeOf, snakeCase, type ToJson } from '../values/model.ts';
import { time } from './parts.ts';

const derived = new WeakMap<z.core.$ZodType, z.ZodType>();

export const schemaOf = <Shown>(model: Pick<ToJson<never, Shown>, 'schema'>) =>
  derive(model.schema) as z.ZodType<Json<Shown>, Json<Shown>>;

/** One instance per named schema becomes one component. */
function derive(schema: z.core.$ZodType): z.ZodType {
  const known = derived.get(schema);
  if (known) return known;
  const { id, base, ...meta } = ((schema as z.ZodType).meta() ?? {}) as { id?: string; base?: z.ZodObject };
  const json = base ? extension(schema as z.ZodObject, base) : withoutMeta(schema as z.ZodType);
  const named = id === undefined ? json.openapi(meta) : json.openapi(id, meta);
  derived.set(schema, named);
  return named;
}

/** Only added fields: the document refers to the base. */
function extension(schema: z.ZodObject, base: z.ZodObject): z.ZodType {
  const isAdded = (key: string) => !Object.hasOwn(base.shape, key);
  return (derive(base) as z.ZodObject).extend(shapeOf(schema, isAdded));
}

const shapeOf = ({ shape }: z.ZodObject, isTaken = (_key: string) => true) =>
  Object.fromEntries(
    Object.entries(shape)
      .filter(([key]) => isTaken(key))
      .map(([key, field]) => [snakeCase(key), derive(field)]),
  );

function withoutMeta(schema: z.ZodType): z.ZodType {
  const inner = maybeOf(schema);
  // `.nullable()` would change the shared component.
  if (inner)
    return inner.meta()?.id === undefined ? derive(inner).nullable() : z.union([derive(inner), z.null()]);
  if (schema instanceof z.ZodOptional) return derive(schema.unwrap()).optional();
  if (schema instanceof z.ZodDate) return time();
  if (schema instanceof z.ZodArray) return z.array(derive(schema.element));
  if (schema instanceof z.ZodObject) return z.object(shapeOf(schema));
  // Built before @hono/zod-openapi loads: only clones have `openapi()`.
  return schema.clone();
}

export const listOf = <Shown>(model: Pick<ToJson<never, Shown>, 'schema'>) =>
  z
    .object({
      items: z.array(schemaOf(model)),
      next_cursor: z.string().nullable().openapi({
        description:
          'Cursor of the next page; null on the last one. A page may be short or empty and have a next one.',
      }),
    })
    .openapi(`${model.schema.meta()?.id}List`);
