import { isDeepStrictEqual } from 'node:util';
import type { StandardSchemaV1 } from '@standard-schema/spec';
import { PermanentError, type SyncContext } from '../../connector-kit/index.ts';
import { isObject } from '../../values/is-object.ts';
import type { TapFolder } from './folder.ts';

/** What the connection's credential adds to the config of the tap; undefined where there is none. */
export async function credentialFields({
  credentials,
}: Pick<SyncContext, 'credentials'>): Promise<Record<string, unknown> | undefined> {
  if (credentials.id === undefined) return undefined;
  const credential = await credentials.get();
  if (credential.type === 'custom') return credential.fields;
  throw new PermanentError(
    `The credential is of type ${credential.type}. A tap gets the fields of one of type custom, under the names that it knows.`,
  );
}

/** What of them the author lets through. */
export async function allowedFields(
  fields: Record<string, unknown> | undefined,
  schema: StandardSchemaV1 | undefined,
): Promise<Record<string, unknown> | undefined> {
  if (!fields || !schema) return fields;
  const { issues, value } = await outputOf(schema, fields);
  // Without the schema's own words: those may repeat a secret.
  const where = issues?.map(({ path = [] }) =>
    path.map((part) => (isObject(part) ? part['key'] : part)).join('.'),
  );
  if (where)
    throw new PermanentError(
      `The credential does not fit credentialSchema of singer(): ${where.join(', ')}.`,
    );
  if (isObject(value)) return value;
  throw new PermanentError('credentialSchema of singer() must return an object.');
}

interface Validated {
  issues?: readonly StandardSchemaV1.Issue[] | undefined;
  value?: unknown;
}

const outputOf = async (schema: StandardSchemaV1, fields: Record<string, unknown>): Promise<Validated> =>
  schema['~standard'].validate(fields);

type Entry = [name: string, value: unknown];

interface CredentialOfRun {
  fields: Record<string, unknown> | undefined;
  /** What the schema made of the fields. */
  allowed: Record<string, unknown> | undefined;
  schema: StandardSchemaV1 | undefined;
}

/** Those changes that the schema passes on to the next run; undefined if it refuses the fields with these changes. */
async function passedOn(
  changed: Entry[],
  { fields, allowed, schema }: CredentialOfRun,
): Promise<Entry[] | undefined> {
  if (!schema) return changed;
  const { issues, value } = await outputOf(schema, { ...fields, ...Object.fromEntries(changed) });
  if (issues || !isObject(value)) return undefined;
  return changed.filter(([name]) => !isDeepStrictEqual(value[name], allowed?.[name]));
}

/** All changes at once, as they may depend on each other; one by one where the schema refuses that. */
async function keptOf(changed: Entry[], credential: CredentialOfRun): Promise<Entry[]> {
  const together = await passedOn(changed, credential);
  if (together) return together;
  let kept: Entry[] = [];
  for (const entry of changed) kept = (await passedOn([...kept, entry], credential)) ?? kept;
  return kept;
}

/** Taps write renewed tokens into their config: those are kept in the credential. */
export async function saveRenewed(
  { credentials, log }: Pick<SyncContext, 'credentials' | 'log'>,
  folder: TapFolder,
  before: Record<string, unknown>,
  credential: CredentialOfRun,
): Promise<void> {
  const { fields } = credential;
  const after = await folder.readObject('config.json');
  if (!after) return log.warn('The tap left no config that can be read; nothing of it is kept.');
  const changed = Object.entries(after).filter(([name, value]) => !isDeepStrictEqual(value, before[name]));
  if (changed.length === 0) return;
  if (!fields)
    return log.warn(
      `The tap has changed its config (${namesOf(changed)}), and there is no custom credential to keep it in. Give the connection one.`,
    );
  const kept = await keptOf(changed, credential);
  const refused = changed.filter(([name]) => !kept.some(([one]) => one === name));
  if (refused.length > 0)
    log.warn(
      `The tap has changed its config (${namesOf(refused)}) in a way that credentialSchema does not allow; this is not kept.`,
    );
  if (kept.length === 0) return;
  await credentials.save({ ...fields, ...Object.fromEntries(kept) });
  log.info(`The tap has changed its config (${namesOf(kept)}); it is kept in the credential.`);
}

const namesOf = (entries: Entry[]) => entries.map(([name]) => name).join(', ');
