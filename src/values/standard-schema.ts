import type { StandardSchemaV1 } from '@standard-schema/spec';

export async function check(
  schema: StandardSchemaV1,
  value: unknown,
): Promise<{ value?: unknown; problem?: string }> {
  const result = await schema['~standard'].validate(value);
  if (!result.issues) return { value: result.value };
  const problems = result.issues.map(({ message: text, path = [] }) => {
    // The caller ends the sentence.
    const message = text.replace(/\.$/, '');
    const where = path.map((part) => (typeof part === 'object' ? part.key : part)).join('.');
    return where ? `${where}: ${message}` : message;
  });
  return { problem: problems.slice(0, 5).join('; ') };
}
