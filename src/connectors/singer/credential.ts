import { isDeepStrictEqual } from 'node:util';
import type { StandardSchemaV1 } from '@standard-schema/spec';
import { PermanentError, type SyncContext } from '../../connector-kit/index.ts';
import { isObject } from '../../values/is-object.ts';
import type { TapFolder } from './folder.ts';

export async function credentialFields({
  credentials,
}: Pick<SyncContext, 'credentials'>): Promise<Record<string, unknown> | undefined> {
  if (credentials.id === undefined) return undefined;
  const credential = await credentials.get();
  if (credential.type === 'custom') return credential.fields;
  throw new PermanentError(
    `The credential has type ${credential.type}. A tap needs type custom, ` +
      'with the field names of its config.',
  );
}

export async function allowedFields(
  fields: Record<string, unknown> | undefined,
  schema: StandardSchemaV1 | undefined,
): Promise<Record<string, unknown> | undefined> {
  if (!fields || !schema) return fields;
  const { issues, value } = await outputOf(schema, fields);
  // Schema messages may quote secrets.
  const issuePaths = issues?.map(({ path = [] }) =>
    path.map((part) => (isObject(part) ? part['key'] : part)).join('.'),
  );
  if (issuePaths)
    throw new PermanentError(
      `The credential does not match credentialSchema of singer(): ${issuePaths.join(', ')}.`,
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

interface RunCredential {
  fields: Record<string, unknown> | undefined;
  allowed: Record<string, unknown> | undefined;
  schema: StandardSchemaV1 | undefined;
}

async function acceptedChanges(
  changed: Entry[],
  { fields, allowed, schema }: RunCredential,
): Promise<Entry[] | undefined> {
  if (!schema) return changed;
  const { issues, value } = await outputOf(schema, { ...fields, ...Object.fromEntries(changed) });
  if (issues || !isObject(value)) return undefined;
  return changed.filter(([name]) => !isDeepStrictEqual(value[name], allowed?.[name]));
}

/** Together, as they may be interdependent; else one by one. */
async function selectChanges(changed: Entry[], credential: RunCredential): Promise<Entry[]> {
  const together = await acceptedChanges(changed, credential);
  if (together) return together;
  let kept: Entry[] = [];
  for (const entry of changed) kept = (await acceptedChanges([...kept, entry], credential)) ?? kept;
  return kept;
}

/** The tap wrote refreshed tokens to its config. */
export async function saveRenewed(
  { credentials, log }: Pick<SyncContext, 'credentials' | 'log'>,
  folder: TapFolder,
  before: Record<string, unknown>,
  credential: RunCredential,
): Promise<void> {
  const { fields } = credential;
  const after = await folder.readObject('config.json');
  if (!after) return log.warn('The tap left no readable config; changes are not saved.');
  const changed = Object.entries(after).filter(([name, value]) => !isDeepStrictEqual(value, before[name]));
  if (changed.length === 0) return;
  if (!fields)
    return log.warn(
      `The tap changed its config (${namesOf(changed)}), but there is no custom credential to save it to. ` +
        'Add one.',
    );
  const kept = await selectChanges(changed, credential);
  const refused = changed.filter(([name]) => !kept.some(([keptName]) => keptName === name));
  if (refused.length > 0)
    log.warn(
      `The tap changed its config (${namesOf(refused)}) in a way that credentialSchema does not allow; ` +
        'not saved.',
    );
  if (kept.length === 0) return;
  await credentials.save({ ...fields, ...Object.fromEntries(kept) });
  log.info(`The tap changed its config (${namesOf(kept)}); saved to the credential.`);
}

const namesOf = (entries: Entry[]) => entries.map(([name]) => name).join(', ');
