import { SynclineError } from '../contract/errors.ts';
import type { Database } from '../store/database.ts';
import type { Sealed } from '../store/sealed.ts';
import {
  lockSealed,
  type SealedEntry,
  type SealedTable,
  sealedTables,
  writeSealed,
} from '../store/sealed.ts';
import { refreshLockTimeoutMs } from './refresh.ts';
import type { Vault } from './vault.ts';

/** Secrets processed by `credentials.rotate`. */
export interface RotationProgress {
  rotated: number;
  /** No configured key decrypts them. */
  unopened: number;
}

/** Bounds lock time. */
const batchSize = 100;

/** The first pass skips locked rows, the second waits. Restartable. */
export async function rotateKeys(
  context: { db: Database; vault: Vault },
  onProgress: (progress: RotationProgress) => void,
): Promise<RotationProgress> {
  const { keyId } = context.vault;
  if (keyId === undefined)
    throw new SynclineError('CONFLICT', 'No encryption key is configured.', {
      hint: 'Create one with `syncline credentials keygen` and put it first in SYNCLINE_CREDENTIALS_KEYS.',
    });
  const total = { rotated: 0, unopened: 0 };
  for (const table of sealedTables)
    for (const pass of [
      { limit: batchSize, skip: true },
      { limit: 1, skip: false },
    ]) {
      // Both passes see unopened rows.
      const counts = { rotated: 0, unopened: 0 };
      let after: string | undefined;
      do {
        const step = await rotateBatch(context, table, { keyId, after, ...pass });
        counts.rotated += step.rotated;
        counts.unopened += step.unopened;
        after = step.last;
        if (after !== undefined) onProgress({ ...total, rotated: total.rotated + counts.rotated });
      } while (after !== undefined);
      total.rotated += counts.rotated;
      if (!pass.skip) total.unopened += counts.unopened;
    }
  return total;
}

function rotateBatch(
  { db, vault }: { db: Database; vault: Vault },
  table: SealedTable,
  request: Parameters<typeof lockSealed>[2],
): Promise<RotationProgress & { last: string | undefined }> {
  return db.transaction(
    async (tx) => {
      const rows = await lockSealed(tx, table, request);
      const renewed = rows.flatMap((row) => reseal(vault, table, row));
      await writeSealed(tx, table, renewed);
      return {
        rotated: renewed.length,
        unopened: rows.length - renewed.length,
        last: rows.at(-1)?.name,
      };
    },
    { lockTimeoutMs: refreshLockTimeoutMs },
  );
}

function reseal(vault: Vault, table: SealedTable, row: SealedEntry): ({ name: string } & Sealed)[] {
  const context = `${table}/${row.tenant_id}/${row.name}`;
  try {
    const value = vault.open(context, { keyId: row.key_id, sealed: row.sealed });
    return [{ name: row.name, ...vault.seal(context, value) }];
  } catch (error) {
    if (error instanceof SynclineError) return [];
    throw error;
  }
}
