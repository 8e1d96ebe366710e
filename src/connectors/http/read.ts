import { isObject } from '../../values/is-object.ts';
import { maxDepth, maxDescription } from '../../values/limits.ts';
import { contradictionsIn } from './contradictions.ts';
import { descriptionSchema, type HttpDescription } from './description.ts';
import { literalSecrets } from './literal-secrets.ts';
import { descriptionError, type LineOf, type Problem, problemsOf } from './problems.ts';

export interface ReadOptions {
  env?: NodeJS.ProcessEnv | undefined;
  lineOf?: LineOf | undefined;
}

export function readDescription(
  input: unknown,
  { env = process.env, lineOf }: ReadOptions = {},
): HttpDescription {
  const problems = sizeProblems(input);
  if (problems.length > 0) throw descriptionError(problems, nameOf(input), lineOf);
  const secrets = literalSecrets(input);
  // Only JSON body values have no rule of their own.
  const parsed = descriptionSchema.safeParse(input, { error: () => 'JSON' });
  const found = parsed.success
    ? contradictionsIn(parsed.data, env)
    : [...problemsOf(parsed.error.issues, input), ...otherProblems(input, parsed.error.issues, env)];
  // Other problems would print the secret.
  const isSecret = ({ path }: Problem) =>
    secrets.some((secret) => secret.path.join('\0') === path.join('\0'));
  const all = [...secrets, ...found.filter((problem) => !isSecret(problem))];
  if (all.length > 0 || !parsed.success) throw descriptionError(all, nameOf(input), lineOf);
  return parsed.data;
}

/** Of the valid parts: one error lists all. */
function otherProblems(
  input: unknown,
  issues: readonly { path: PropertyKey[] }[],
  env: NodeJS.ProcessEnv,
): Problem[] {
  if (!isObject(input)) return [];
  const hasIssue = (...part: PropertyKey[]) =>
    issues.some(({ path }) => part.every((step, i) => step === path[i]));
  const known = Object.keys(descriptionSchema.shape);
  const validFields = Object.entries(input).filter(([name]) => known.includes(name) && !hasIssue(name));
  const { streams, config } = input;
  const partial = descriptionSchema.safeParse({
    ...placeholder,
    ...(isObject(config) && {
      config: Object.fromEntries(Object.keys(config).map((name) => [name, 'string'])),
    }),
    ...Object.fromEntries(validFields),
    streams: Object.fromEntries(
      Object.entries(isObject(streams) ? streams : {}).filter(([name]) => !hasIssue('streams', name)),
    ),
  });
  if (!partial.success) return [];
  return contradictionsIn(partial.data, env).filter(({ path }) => path.length > 1 || !hasIssue('streams'));
}

const placeholder = { provider: 'x', baseUrl: 'https://provider.example', auth: { type: 'none' } };

function nameOf(input: unknown): string {
  const provider =
    typeof input === 'object' && input !== null ? (input as { provider?: unknown }).provider : undefined;
  return typeof provider === 'string' && /^[\w-]{1,63}$/.test(provider)
    ? `The description of ${provider}`
    : 'The description';
}

/** Iterative: deep input overflows the stack. */
function sizeProblems(input: unknown): Problem[] {
  let level: unknown[] = [input];
  let count = 0;
  for (let depth = 0; level.length > 0; depth++) {
    count += level.length;
    if (depth > maxDepth.description)
      return [{ path: [], message: `is nested more than ${maxDepth.description} levels deep.` }];
    if (count > maxDescription.values)
      return [{ path: [], message: `contains more than ${maxDescription.values} values.` }];
    level = level.flatMap((value) =>
      typeof value === 'object' && value !== null ? Object.values(value) : [],
    );
  }
  return [];
}
