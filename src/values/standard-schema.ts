import type { StandardSchemaV1 } from '@standard-schema/spec';

export async function check(
  schema: StandardSchemaV1,
  value: unknown,
): Promise<{ value?: unknown; problem?: string }> {
  const result = await schema['~standard'].validate(value);
  return result.issues ? { problem: problemOf(result.issues) } : { value: result.value };
}

export function problemOf(issues: readonly StandardSchemaV1.Issue[]): string {
  const problems = issues.map(({ message: text, path = [] }) => {
    const message = text.replace(/\.$/, '');
    const where = path.map((part) => (typeof part === 'object' ? part.key : part)).join('.');
    return where ? `${where}: ${message}` : message;
  });
  return problems.slice(0, 5).join('; ');
}
