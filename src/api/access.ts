import { createHash, randomBytes } from 'node:crypto';
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

/** Who is behind a secret. */
export interface Identity extends Caller {
  /** Undefined for a one-time token. */
  keyId: string | undefined;
  keyName: string;
}

export interface ApiKey {
  id: string;
  name: string;
  /** How it begins: enough to recognise it, too little to use it. */
  prefix: string;
  /** Undefined: it is an operator's. */
  tenantId: string | undefined;
  createdAt: Date;
  createdBy: string;
  /** The key that it was created with; undefined for the command line and the library. */
  parentId: string | undefined;
  /** To within five minutes. */
  lastUsedAt: Date | undefined;
  revokedAt: Date | undefined;
}

/** Attempts with a key or session that was refused. Without `hash` and `address`: of several, counted together. */
export interface Refused {
  kind: 'key' | 'session';
  hash?: Buffer | undefined;
  prefix?: string | undefined;
  address?: string | undefined;
  count: number;
}

const keyStart = 'syn_';
const shownLength = 10;
/** A working day and the evening after it. */
const sessionMs = 16 * 3600 * 1000;

/** How a key begins, which is public; undefined for text that has not the form of a key, since that may be a password. */
export const publicPrefix = (secret: string) =>
  /^syn_[\w-]{43}$/.test(secret) ? secret.slice(0, shownLength) : undefined;

/** 256 bits, so that nobody guesses one, and a plain hash of it is as good as any. */
const newSecret = () => randomBytes(32).toString('base64url');
export const hashOf = (secret: string) => createHash('sha256').update(secret).digest();

export type Access = ReturnType<typeof createAccess>;

/** Finds out who is there. What they may then see is decided by the view that is made for them. */
export function createAccess({ db, ports }: { db: Database; ports: Ports }) {
  return {
    /** The owner of an API key; undefined if there is none, or it was revoked. */
    async authenticate(key: string): Promise<Identity | undefined> {
      if (!key.startsWith(keyStart) || key.length > 200) return undefined;
      const row = await useKey(db, await db.now(), hashOf(key));
      return row && identityOf(row);
    },

    /** Opens a session, so that the key need not be sent again. The event records `address`, the client's. */
    async openSession(
      identity: Identity,
      { address }: { address?: string } = {},
    ): Promise<{ token: string; expiresAt: Date }> {
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

    async session(token: string): Promise<Identity | undefined> {
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

    async closeSession(token: string): Promise<void> {
      await db.transaction(async (tx) => {
        const row = await deleteSession(tx, hashOf(token));
        if (!row) return;
        const who = { actor: row.actor, keyId: row.key_id ?? undefined };
        const event = { tenantId: row.tenant_id, kind: 'session.closed' as const };
        await recorder(ports, who)(tx, tx.now, event);
      });
    },

    /** Records refused attempts with one key or session, or of several that are counted together. */
    async recordRefused({ kind, hash, prefix, address, count }: Refused): Promise<void> {
      await db.transaction(async (tx) => {
        const find = kind === 'key' ? findRefusedKey : findRefusedSession;
        const known = hash && (await find(tx, hash));
        const detail = {
          count,
          address: address ?? null,
          ...(kind === 'key' && { prefix: known?.prefix ?? prefix ?? null }),
          ...(known && { key: known.id, name: known.name, revoked: known.revoked_at !== null }),
        };
        const who = { actor: 'unauthenticated', keyId: known?.id };
        const event = { tenantId: known?.tenant_id ?? null, kind: `${kind}.refused` as const, detail };
        await recorder(ports, who)(tx, tx.now, event);
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

/** API keys. They are shown once, when they are made; only their hash is kept. */
export function createKeys({
  db,
  ports,
  who,
  record,
}: {
  db: Database;
  ports: Ports;
  who: Caller;
  record: Recorder;
}) {
  return {
    /** For one tenant, or for the operator. In a tenant's view, always for that tenant. */
    async create(input: { name: string; tenantId?: string | undefined }): Promise<ApiKey & { key: string }> {
      requireText('name', input.name, 100);
      const tenantId = input.tenantId ?? who.tenantId;
      if (tenantId !== undefined) requireUuid('tenantId', tenantId);
      const key = `${keyStart}${newSecret()}`;
      const now = await db.now();
      const row = {
        id: ports.newId(),
        tenant_id: tenantId ?? null,
        name: input.name,
        prefix: key.slice(0, shownLength),
        created_at: now,
        created_by: who.actor,
        parent_id: who.keyId ?? null,
      };
      await db.transaction(async (tx) => {
        if (tenantId !== undefined && !(await findTenant(tx, tenantId))) throw notFound(`tenant ${tenantId}`);
        // Held until the child is there, so that revoking the descendants of the key finds it.
        if (who.keyId !== undefined && !(await holdValidKey(tx, who.keyId)))
          throw new SynclineError(
            'FORBIDDEN',
            `Key ${who.keyId}, which this request uses, is not valid any more.`,
          );
        await insertKey(tx, { ...row, hash: hashOf(key) });
        const detail = { key: row.id, name: row.name, prefix: row.prefix };
        await record(tx, now, { tenantId: row.tenant_id, kind: 'key.created', detail });
      });
      return { ...toKey({ ...row, last_used_at: null, revoked_at: null }), key };
    },

    /** The newest first, also those that were revoked. */
    async list({ cursor, limit: wanted }: PageRequest = {}): Promise<Page<ApiKey>> {
      const limit = pageLimit(wanted);
      const after = keyOf('keys', cursor, [uuidPart])?.[0];
      const rows = await listKeys(db, after, limit + 1);
      return mapPage(
        pageOf('keys', rows, ({ id }) => [id]),
        toKey,
      );
    },

    /** A key with the number of its descendants that are valid, counted up to 10,000. */
    async get(id: string): Promise<ApiKey & { descendants: number }> {
      requireUuid('key', id);
      const row = await findKey(db, id);
      if (!row) throw notFound(`key ${id}`);
      return { ...toKey(row), descendants: (await findDescendants(db, id, maxRevoked)).length };
    },

    /**
     * Ends a key, and the sessions that were opened with it, at once; with `descendants`, also the keys that were created with
     * it, with those, and so on. Returns how many keys it revoked, and how many descendants are still valid.
     */
    async revoke(
      id: string,
      { descendants = false }: { descendants?: boolean } = {},
    ): Promise<{ revoked: number; descendants: number }> {
      requireUuid('key', id);
      return db.transaction(async (tx) => {
        const row = await findKey(tx, id, 'FOR UPDATE');
        if (!row) throw notFound(`key ${id}`);
        const { now } = tx;
        let revoked = await end(tx, now, [id]);
        let below = await findDescendants(tx, id, maxRevoked);
        if (!descendants) return { revoked, descendants: below.length };
        // Again until none is left: a key that was being created waited for, or was waited for by, its parent's row.
        for (; below.length > 0; below = await findDescendants(tx, id, maxRevoked))
          revoked += await end(tx, now, below, id);
        return { revoked, descendants: 0 };
      });
    },
  };

  async function end(tx: Queryable, now: Date, ids: string[], withKey?: string): Promise<number> {
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

/** How many keys one statement revokes. */
const maxRevoked = 10_000;

const toKey = (row: KeyRow): ApiKey => ({
  id: row.id,
  name: row.name,
  prefix: row.prefix,
  tenantId: row.tenant_id ?? undefined,
  createdAt: row.created_at,
  createdBy: row.created_by,
  parentId: row.parent_id ?? undefined,
  lastUsedAt: row.last_used_at ?? undefined,
  revokedAt: row.revoked_at ?? undefined,
});
