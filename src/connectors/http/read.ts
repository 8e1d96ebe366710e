import { isObject } from '../../values/is-object.ts';
import { contradictionsIn } from './contradictions.ts';
import { descriptionSchema, type HttpDescription } from './description.ts';
import { literalSecrets } from './literal-secrets.ts';
import { descriptionError, type LineOf, type Problem, problemsOf } from './problems.ts';

/** Larger than any description that people write; what is not could keep a process busy, or end it. */
const limits = { values: 20_000, depth: 40 };

export interface ReadOptions {
  /** Where `${env.NAME}` comes from; the process's environment unless given. */
  env?: NodeJS.ProcessEnv | undefined;
  lineOf?: LineOf | undefined;
}

/** A description in which nothing is wrong, or one error that lists all that is. */
export function readDescription(
  input: unknown,
  { env = process.env, lineOf }: ReadOptions = {},
): HttpDescription {
  const problems = sizeProblems(input);
  if (problems.length > 0) throw descriptionError(problems, nameOf(input), lineOf);
  const secrets = literalSecrets(input);
  const parsed = descriptionSchema.safeParse(input);
  const found = parsed.success
    ? contradictionsIn(parsed.data, env)
    : [...problemsOf(parsed.error.issues, input), ...elsewhere(input, parsed.error.issues, env)];
  // What looks like a secret must not be shown by another problem with the same value.
  const isSecret = ({ path }: Problem) =>
    secrets.some((secret) => secret.path.join('\0') === path.join('\0'));
  const all = [...secrets, ...found.filter((problem) => !isSecret(problem))];
  if (all.length > 0 || !parsed.success) throw descriptionError(all, nameOf(input), lineOf);
  return parsed.data;
}

/** What else is wrong in the parts that are complete, so that nobody has to mend one thing to hear of the next. */
function elsewhere(
  input: unknown,
  issues: readonly { path: PropertyKey[] }[],
  env: NodeJS.ProcessEnv,
): Problem[] {
  if (!isObject(input)) return [];
  const isBroken = (...part: PropertyKey[]) =>
    issues.some(({ path }) => part.every((step, i) => step === path[i]));
  const known = Object.keys(descriptionSchema.shape);
  const whole = Object.entries(input).filter(([name]) => known.includes(name) && !isBroken(name));
  const { streams, config } = input;
  const sound = descriptionSchema.safeParse({
    ...placeholder,
    ...(isObject(config) && {
      config: Object.fromEntries(Object.keys(config).map((name) => [name, 'string'])),
    }),
    ...Object.fromEntries(whole),
    streams: Object.fromEntries(
      Object.entries(isObject(streams) ? streams : {}).filter(([name]) => !isBroken('streams', name)),
    ),
  });
  if (!sound.success) return [];
  return contradictionsIn(sound.data, env).filter(({ path }) => path.length > 1 || !isBroken('streams'));
}

/** Stands for what is broken, and is right itself. */
const placeholder = { provider: 'x', baseUrl: 'https://provider.example', auth: { type: 'none' } };

function nameOf(input: unknown): string {
  const provider =
    typeof input === 'object' && input !== null ? (input as { provider?: unknown }).provider : undefined;
  return typeof provider === 'string' && /^[\w-]{1,63}$/.test(provider)
    ? `The description of ${provider}`
    : 'The description';
}

/** Without recursion: what is too deep must not be walked down. */
function sizeProblems(input: unknown): Problem[] {
  let level: unknown[] = [input];
  let count = 0;
  for (let depth = 0; level.length > 0; depth++) {
    count += level.length;
    if (depth > limits.depth) return [{ path: [], says: `is nested more than ${limits.depth} levels deep.` }];
    if (count > limits.values) return [{ path: [], says: `holds more than ${limits.values} values.` }];
    level = level.flatMap((value) =>
      typeof value === 'object' && value !== null ? Object.values(value) : [],
    );
  }
  return [];
}
