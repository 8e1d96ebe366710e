import { z } from 'zod';

/**
 * What a description may say. Each part carries what it must be (`error`, used in the line that refuses a value) and what
 * it is for (`describe`, used in the reference): neither can be told without the other being there.
 */

/** Everything in a description has a bound: it is read at every start, and stands in every error. */
export const longest = { text: 2000, list: 100 };

export const text = (must: string) => z.string({ error: must }).min(1, must).max(longest.text, must);
const name = /^[A-Za-z][A-Za-z0-9_]{0,59}$/;
const nameMust = 'a name of letters, digits and _ that starts with a letter, at most 60 characters';
export const path = text('a path such as data.items or [0].id');
export const template = text('text, with placeholders such as {config.project} where needed');
export const whole = (min: number, max: number) => {
  const must = `a whole number from ${min} to ${max}`;
  return z.int(must).min(min, must).max(max, must);
};
export const oneOf = <const Values extends readonly [string, ...string[]]>(values: Values) =>
  z.enum(values, { error: `one of ${values.join(', ')}` });
export const flag = z.boolean({ error: 'true or false' });
export const list = <Item extends z.ZodType>(item: Item, must: string) =>
  z.array(item, { error: must }).min(1, must).max(longest.list, must);

/** For unknown names the message lists those that are known: the line that refuses one needs them to suggest another. */
export const object = <Shape extends z.ZodRawShape>(
  shape: Shape,
  must = `an object { ${Object.keys(shape).join(', ')} }`,
) =>
  z.strictObject(shape, {
    error: (issue) => (issue.code === 'unrecognized_keys' ? Object.keys(shape).join(', ') : must),
  });
export const named = <Value extends z.ZodType>(value: Value, must: string) =>
  z.record(z.string().regex(name, { error: nameMust }), value, { error: must });
export const values = <Value extends z.ZodType>(value: Value, must: string) =>
  z.record(text(must), value, { error: must });

const scalarMust = 'text, a number, true, false or null';
export const scalar = z.union([z.string(), z.number(), z.boolean(), z.null()], { error: scalarMust });

export const condition = object({
  path: path.describe('What is looked at.'),
  equals: scalar.optional().describe('True where it is exactly this.'),
  in: list(scalar, `a list of 1 to ${longest.list} values`)
    .optional()
    .describe('True where it is one of these.'),
  exists: flag.optional().describe('True where it is there and not null; with `false`, where it is not.'),
});
export const conditions = z.union([condition, list(condition, 'a list of 1 to 100 conditions')], {
  error: 'a condition such as { path: archived, equals: true }, or a list of them',
});
export const paths = z.union([path, list(path, 'a list of 1 to 100 paths')], {
  error: 'a path, or a list of paths',
});
