import { isDeepStrictEqual } from 'node:util';
import { PermanentError, type SyncContext } from '../../kit/index.ts';
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

/** Taps write renewed tokens into their config: those are kept in the credential. */
export async function saveRenewed(
  { credentials, log }: Pick<SyncContext, 'credentials' | 'log'>,
  folder: TapFolder,
  before: Record<string, unknown>,
  fields: Record<string, unknown> | undefined,
): Promise<void> {
  const after = await folder.readObject('config.json');
  if (!after) return log.warn('The tap left no config that can be read; nothing of it is kept.');
  const changed = Object.entries(after).filter(([name, value]) => !isDeepStrictEqual(value, before[name]));
  if (changed.length === 0) return;
  const names = changed.map(([name]) => name).join(', ');
  if (!fields)
    return log.warn(
      `The tap has changed its config (${names}), and there is no custom credential to keep it in. Give the connection one.`,
    );
  await credentials.save({ ...fields, ...Object.fromEntries(changed) });
  log.info(`The tap has changed its config (${names}); it is kept in the credential.`);
}
