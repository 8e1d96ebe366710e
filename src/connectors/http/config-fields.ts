import { z } from 'zod';
import type { ConfigFieldDescription, HttpDescription } from './description.ts';
import type { Value } from './templates.ts';

export type ConfigValues = Record<string, Value | undefined>;

type Field = Exclude<ConfigFieldDescription, string>;

export const fieldOf = (field: ConfigFieldDescription): Field =>
  typeof field === 'string' ? { type: field } : field;

/** Drops undeclared fields: templates cannot read them. */
export function configSchemaOf({ config = {} }: HttpDescription) {
  const fields = Object.entries(config).map(
    ([name, field]) => [name, schemaOf(name, fieldOf(field))] as const,
  );
  return z.object(Object.fromEntries(fields));
}

function schemaOf(name: string, field: Field): z.ZodType {
  const schema = typeSchema(name, field);
  if (field.default !== undefined) return schema.default(field.default);
  return field.optional ? schema.optional() : schema;
}

function typeSchema(name: string, { type, pattern, description }: Field): z.ZodType {
  const about = description === undefined ? '' : ` (${description})`;
  const error = `config.${name} must be a ${type}${about}`;
  if (type === 'number') return z.number({ error });
  if (type === 'boolean') return z.boolean({ error });
  const text = z.string({ error }).max(2000, { error });
  const isWhole = pattern === undefined ? undefined : new RegExp(`^(?:${pattern})$`, 'u');
  return isWhole ? text.regex(isWhole, { error: `config.${name} must match ${pattern}${about}` }) : text;
}
