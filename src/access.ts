import { createHash, randomBytes } from 'node:crypto';
import { notFound, requireText, requireUuid } from './checks.ts';
import type { Recorder } from './doer.ts';
import { keyOf, type Page, type PageRequest, pageLimit, pageOf, uuidPart } from './page.ts';
import type { Ports } from './ports.ts';
import type { Database } from './store/database.ts';
import {
  deleteSession,
  findKey,
  findSession,
  insertKey,
  insertSession,
  type KeyRow,
  listKeys,
  revokeKey,
  useKey,
} from './store/keys.ts';
import { findTenant } from './store/tenants.ts';
import type { Who } from './who.ts';

/** Who is behind a secret. */
export interface Identity extends Who {
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
  /** To within five minutes. */
  lastUsedAt: Date | undefined;
  revokedAt: Date | undefined;
}

const keyStart = 'syn_';
const shownLength = 10;
/** A working day and the evening after it. */
const sessionMs = 16 * 3600 * 1000;

/** 256 bits, so that nobody guesses one, and a plain hash of it is as good as any. */
const newSecret = () => randomBytes(32).toString('base64url');
const hashOf = (secret: string) => createHash('sha256').update(secret).digest();

export type Access = ReturnType<typeof createAccess>;

/** Finds out who is there. What they may then see is decided by the view that is made for them. */
export function createAccess({ db, ports }: { db: Database; ports: Ports }) {
  return {
    /** The owner of an API key; undefined if there is none, or it was revoked. */
    async authenticate(key: string): Promise<Identity | undefined> {
      if (!key.startsWith(keyStart) || key.length > 200) return undefined;
      const row = await useKey(db, new Date(ports.now()), hashOf(key));
      return row && identityOf(row);
    },

    /** Lets somebody in for a while without showing the key again. */
    async openSession(identity: Identity): Promise<{ token: string; expiresAt: Date }> {
      const token = newSecret();
      const now = new Date(ports.now());
      const expiresAt = new Date(now.getTime() + sessionMs);
      const { keyId, actor } = identity;
      await insertSession(db, { hash: hashOf(token), keyId, actor, now, expiresAt });
      return { token, expiresAt };
    },

    async session(token: string): Promise<Identity | undefined> {
      const row = await findSession(db, new Date(ports.now()), hashOf(token));
      return (
        row && {
          tenantId: row.tenant_id ?? undefined,
          actor: row.actor,
          keyId: row.key_id ?? undefined,
          keyName: row.key_name ?? 'one-time token',
        }
      );
    },

    closeSession: (token: string): Promise<void> => deleteSession(db, hashOf(token)),
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
  who: Who;
  record: Recorder;
}) {
  return {
    /** For one tenant, or for the operator. In a tenant's view, always for that tenant. */
    async create(input: { name: string; tenantId?: string | undefined }): Promise<ApiKey & { key: string }> {
      requireText('name', input.name, 100);
      const tenantId = input.tenantId ?? who.tenantId;
      if (tenantId !== undefined) requireUuid('tenantId', tenantId);
      const key = `${keyStart}${newSecret()}`;
      const now = new Date(ports.now());
      const row = {
        id: ports.newId(),
        tenant_id: tenantId ?? null,
        name: input.name,
        prefix: key.slice(0, shownLength),
        created_at: now,
        created_by: who.actor,
      };
      await db.transaction(async (tx) => {
        if (tenantId !== undefined && !(await findTenant(tx, tenantId))) throw notFound(`tenant ${tenantId}`);
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
      const rows = await db.transaction((tx) => listKeys(tx, after, limit + 1));
      return pageOf('keys', rows.map(toKey), limit, ({ id }) => id);
    },

    /** Ends a key, and the sessions that were opened with it, at once. */
    async revoke(id: string): Promise<void> {
      requireUuid('key', id);
      await db.transaction(async (tx) => {
        const row = await findKey(tx, id, 'FOR UPDATE');
        if (!row) throw notFound(`key ${id}`);
        if (row.revoked_at) return;
        const now = new Date(ports.now());
        await revokeKey(tx, now, id);
        const detail = { key: id, name: row.name, prefix: row.prefix };
        await record(tx, now, { tenantId: row.tenant_id, kind: 'key.revoked', detail });
      });
    },
  };
}

const toKey = (row: KeyRow): ApiKey => ({
  id: row.id,
  name: row.name,
  prefix: row.prefix,
  tenantId: row.tenant_id ?? undefined,
  createdAt: row.created_at,
  createdBy: row.created_by,
  lastUsedAt: row.last_used_at ?? undefined,
  revokedAt: row.revoked_at ?? undefined,
});
