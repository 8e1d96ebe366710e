import { type Recorder, recorder } from '../caller/audit.ts';
import type { Caller } from '../caller/caller.ts';
import {
  keyOf,
  mapPage,
  type Page,
  type PageRequest,
  pageLimit,
  pageOf,
  uuidPart,
} from '../caller/keyset.ts';
import { SynclineError } from '../contract/errors.ts';
import type { Ports } from '../platform/ports.ts';
import type { Database, Queryable } from '../store/database.ts';
import {
  deleteSession,
  findDescendants,
  findKey,
  findRefusedKey,
  findRefusedSession,
  findSession,
  holdValidKey,
  insertKey,
  insertSession,
  type KeyRow,
  listKeys,
  revokeKeys,
  useKey,
} from '../store/keys.ts';
import { findTenant } from '../store/tenants.ts';
import { notFound, requireText, requireUuid } from '../values/arguments.ts';
import { hashOf, keyStart, newSecret, publicPrefixLength } from '../values/secret-token.ts';
import { type ApiKey, type ApiKeyDetail, keyFromRow, type NewApiKey } from './model.ts';

/** The caller that a key or session authenticates. */
export interface Identity extends Caller {
  /** Undefined for a one-time token. */
  keyId: string | undefined;
  keyName: string;
}

/** Refused keys or sessions; without `hash` and `address`, several. */
export interface Refused {
  kind: 'key' | 'session';
  hash?: Buffer | undefined;
  prefix?: string | undefined;
  address?: string | undefined;
  count: number;
}

/** Covers a working day. */
const sessionMs = 16 * 3600 * 1000;

/** Authentication only; `syncline.as(identity)` authorizes. */
export interface Access {
  /** Undefined if the key is unknown or revoked. */
  authenticate(key: string): Promise<Identity | undefined>;

  /** Opens a session in place of the key; its event records the client's `address`. */
  openSession(identity: Identity, client?: { address?: string }): Promise<{ token: string; expiresAt: Date }>;

  /** Undefined if the session is unknown, closed or expired. */
  session(token: string): Promise<Identity | undefined>;

  /** Does nothing if the session is unknown. */
  closeSession(token: string): Promise<void>;

  /** Stores an audit event for refused keys or sessions. */
  recordRefused(refused: Refused): Promise<void>;
}

export function createAccess({ db, ports }: { db: Database; ports: Ports }): Access {
  return {
    async authenticate(key) {
      if (!key.startsWith(keyStart) || key.length > 200) return undefined;
      const row = await useKey(db, await db.now(), hashOf(key));
      return row && identityOf(row);
    },

    async openSession(identity, { address } = {}) {
      const token = newSecret();
      const now = await db.now();
      const expiresAt = new Date(now.getTime() + sessionMs);
      const { keyId, actor, tenantId } = identity;
      await db.transaction(async (tx) => {
        await insertSession(tx, { hash: hashOf(token), keyId, actor, now, expiresAt });
        const detail = { by: keyId === undefined ? 'one-time token' : 'key', address: address ?? null };
        await recorder(ports, identity)(tx, now, {
          tenantId: tenantId ?? null,
          kind: 'session.opened',
          detail,
        });
      });
      return { token, expiresAt };
    },

    async session(token) {
      const row = await findSession(db, await db.now(), hashOf(token));
      return (
        row && {
          tenantId: row.tenant_id ?? undefined,
          actor: row.actor,
          keyId: row.key_id ?? undefined,
          keyName: row.key_name ?? 'one-time token',
        }
      );
    },

    async closeSession(token) {
      await db.transaction(async (tx) => {
        const row = await deleteSession(tx, hashOf(token));
        if (!row) return;
        const caller = { actor: row.actor, keyId: row.key_id ?? undefined };
        const event = { tenantId: row.tenant_id, kind: 'session.closed' as const };
        await recorder(ports, caller)(tx, tx.now, event);
      });
    },

    async recordRefused({ kind, hash, prefix, address, count }) {
      await db.transaction(async (tx) => {
        const find = kind === 'key' ? findRefusedKey : findRefusedSession;
        const known = hash && (await find(tx, hash));
        const detail = {
          count,
          address: address ?? null,
          ...(kind === 'key' && { prefix: known?.prefix ?? prefix ?? null }),
          ...(known && { key: known.id, name: known.name, revoked: known.revoked_at !== null }),
        };
        const caller = { actor: 'unauthenticated', keyId: known?.id };
        const event = { tenantId: known?.tenant_id ?? null, kind: `${kind}.refused` as const, detail };
        await recorder(ports, caller)(tx, tx.now, event);
      });
    },
  };
}

function identityOf(row: KeyRow): Identity {
  return {
    tenantId: row.tenant_id ?? undefined,
    actor: `key:${row.name}`,
    keyId: row.id,
    keyName: row.name,
  };
}

/** API keys: returned once, on creation; only the hash is stored. */
export interface KeysApi {
  /** For a tenant or the operator; a tenant creates only its own. */
  create(input: { name: string; tenantId?: string | undefined }): Promise<NewApiKey>;

  /** Newest first, including revoked ones. */
  list(request?: PageRequest): Promise<Page<ApiKey>>;

  /** A key with its number of valid descendants, up to 10,000. */
  get(id: string): Promise<ApiKeyDetail>;

  /**
   * Revokes a key and its sessions; with `descendants`, also keys created with it, recursively. Returns how
   * many were revoked, and how many descendants stay valid.
   */
  revoke(id: string, options?: { descendants?: boolean }): Promise<{ revoked: number; descendants: number }>;
}

export function createKeys({
  db,
  ports,
  caller,
  record,
}: {
  db: Database;
  ports: Ports;
  caller: Caller;
  record: Recorder;
}): KeysApi {
  return {
    async create(input) {
      requireText('name', input.name, 100);
      const tenantId = input.tenantId ?? caller.tenantId;
      if (tenantId !== undefined) requireUuid('tenantId', tenantId);
      const key = `${keyStart}${newSecret()}`;
      const now = await db.now();
      const row = {
        id: ports.newId(),
        tenant_id: tenantId ?? null,
        name: input.name,
        prefix: key.slice(0, publicPrefixLength),
        created_at: now,
        created_by: caller.actor,
        parent_id: caller.keyId ?? null,
      };
      await db.transaction(async (tx) => {
        if (tenantId !== undefined && !(await findTenant(tx, tenantId))) throw notFound(`tenant ${tenantId}`);
        // Lock the parent until commit: a revocation of its descendants finds the new key.
        if (caller.keyId !== undefined && !(await holdValidKey(tx, caller.keyId)))
          throw new SynclineError('FORBIDDEN', `Key ${caller.keyId} of this request is no longer valid.`);
        await insertKey(tx, { ...row, hash: hashOf(key) });
        const detail = { key: row.id, name: row.name, prefix: row.prefix };
        await record(tx, now, { tenantId: row.tenant_id, kind: 'key.created', detail });
      });
      return { ...keyFromRow({ ...row, last_used_at: null, revoked_at: null }), key };
    },

    async list({ cursor, limit: requestedLimit } = {}) {
      const limit = pageLimit(requestedLimit);
      const after = keyOf('keys', cursor, [uuidPart])?.[0];
      const rows = await listKeys(db, after, limit + 1);
      return mapPage(
        pageOf('keys', rows, ({ id }) => [id]),
        keyFromRow,
      );
    },

    async get(id) {
      requireUuid('key', id);
      const row = await findKey(db, id);
      if (!row) throw notFound(`key ${id}`);
      return { ...keyFromRow(row), descendants: (await findDescendants(db, id, maxRevoked)).length };
    },

    async revoke(id, { descendants = false } = {}) {
      requireUuid('key', id);
      return db.transaction(async (tx) => {
        const row = await findKey(tx, id, 'FOR UPDATE');
        if (!row) throw notFound(`key ${id}`);
        const { now } = tx;
        let revoked = await revokeBatch(tx, now, [id]);
        let below = await findDescendants(tx, id, maxRevoked);
        if (!descendants) return { revoked, descendants: below.length };
        // Until none is left: a concurrent create serialises on its parent's row.
        for (; below.length > 0; below = await findDescendants(tx, id, maxRevoked))
          revoked += await revokeBatch(tx, now, below, id);
        return { revoked, descendants: 0 };
      });
    },
  };

  async function revokeBatch(tx: Queryable, now: Date, ids: string[], withKey?: string): Promise<number> {
    const rows = await revokeKeys(tx, now, ids);
    const events = rows.map(({ id, tenant_id, name, prefix }) => ({
      tenantId: tenant_id,
      kind: 'key.revoked' as const,
      detail: { key: id, name, prefix, ...(withKey !== undefined && { with: withKey }) },
    }));
    await record(tx, now, events);
    return rows.length;
  }
}

const maxRevoked = 10_000;
