import { z } from 'zod';

/** `error` is the error text, `describe` the reference row. */

/** Bounds parsing and error size. */
export const maxLengths = { text: 2000, list: 100 };

export const text = (rule: string) => z.string({ error: rule }).min(1, rule).max(maxLengths.text, rule);
const name = /^[A-Za-z][A-Za-z0-9_]{0,59}$/;
const nameRule = 'a name of letters, digits and _ that starts with a letter, at most 60 characters';
export const path = text('a path such as data.items or [0].id');
export const template = text('text, with placeholders such as {config.project} where needed');
export const integer = (min: number, max: number) => {
  const rule = `a whole number from ${min} to ${max}`;
  return z.int(rule).min(min, rule).max(max, rule);
};
export const oneOf = <const Values extends readonly [string, ...string[]]>(values: Values) =>
  z.enum(values, { error: `one of ${values.join(', ')}` });
export const flag = z.boolean({ error: 'true or false' });
export const list = <Item extends z.ZodType>(item: Item, rule: string) =>
  z.array(item, { error: rule }).min(1, rule).max(maxLengths.list, rule);

/** `problemsOf` suggests one of the known keys. */
export const object = <Shape extends z.ZodRawShape>(
  shape: Shape,
  rule = `an object { ${Object.keys(shape).join(', ')} }`,
) =>
  z.strictObject(shape, {
    error: (issue) => (issue.code === 'unrecognized_keys' ? Object.keys(shape).join(', ') : rule),
  });
export const named = <Value extends z.ZodType>(value: Value, rule: string) =>
  z.record(z.string().regex(name, { error: nameRule }), value, { error: rule });
export const values = <Value extends z.ZodType>(value: Value, rule: string) =>
  z.record(text(rule), value, { error: rule });

const scalarRule = 'text, a number, true, false or null';
export const scalar = z.union([z.string(), z.number(), z.boolean(), z.null()], { error: scalarRule });

export const condition = object({
  path: path.describe('Path of the value.'),
  equals: scalar.optional().describe('True if the value equals this.'),
  in: list(scalar, `a list of 1 to ${maxLengths.list} values`)
    .optional()
    .describe('True if the value is one of these.'),
  exists: flag.optional().describe('True if the value is present and not null; with `false`, if not.'),
});
export const conditions = z.union([condition, list(condition, 'a list of 1 to 100 conditions')], {
  error: 'a condition such as { path: archived, equals: true }, or a list of them',
});
export const paths = z.union([path, list(path, 'a list of 1 to 100 paths')], {
  error: 'a path, or a list of paths',
});
