import type { StandardSchemaV1 } from '@standard-schema/spec';

/** Checks a value against a Standard Schema. */
export async function check(
  schema: StandardSchemaV1,
  value: unknown,
): Promise<{ value?: unknown; problem?: string }> {
  const result = await schema['~standard'].validate(value);
  if (!result.issues) return { value: result.value };
  const problems = result.issues.map(({ message: text, path = [] }) => {
    // It becomes part of a sentence that ends elsewhere.
    const message = text.replace(/\.$/, '');
    const where = path.map((part) => (typeof part === 'object' ? part.key : part)).join('.');
    return where ? `${where}: ${message}` : message;
  });
  return { problem: problems.slice(0, 5).join('; ') };
}
