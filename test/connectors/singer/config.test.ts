import { beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type SingerOptions, singer } from '../../../src/connectors/singer/singer.ts';
import { newKey } from '../../credentials/handles.ts';
import { tenant, useDatabase } from '../../support/database.ts';
import { command, newFile, notesIn } from './tap.ts';

const database = useDatabase();
const { sql } = database;
beforeEach(() => database.empty());

const engineWith = (options: Partial<SingerOptions>) =>
  database.engine({
    credentials: { keys: [newKey()] },
    connectors: [singer({ provider: 'github', name: 'A tap', command, ...options })],
  });

/** Syncs once and returns the config the tap received. */
async function configOf(
  options: Partial<SingerOptions>,
  config: Record<string, unknown>,
  fields?: Record<string, unknown>,
): Promise<unknown> {
  const notes = newFile();
  const own = { behaviour: 'show', notes };
  const { connections, credentials, drain } = engineWith({
    ...options,
    config: { ...own, ...options.config },
  });
  const credential =
    fields &&
    (await credentials.create({ tenantId: tenant, provider: 'github', secret: { type: 'custom', fields } }));
  const { id } = await connections.create({
    ...{ tenantId: tenant, provider: 'github', credentialId: credential?.id },
    config,
  });
  await connections.trigger(id);
  expect(await drain()).toMatchObject({ succeeded: 1 });
  const { config: received = {} } = (notesIn(notes) ?? {}) as { config?: Record<string, unknown> };
  const { behaviour, notes: _, ...rest } = received;
  expect(behaviour).toBe('show');
  return rest;
}

describe('singer: config of a tenant', () => {
  it('singer: without a configSchema, config keys are rejected by name', async () => {
    const { connections } = engineWith({});
    const create = (config?: Record<string, unknown>) =>
      connections.create({ tenantId: tenant, provider: 'github', ...(config && { config }) });
    await expect(create({ output_path: '/etc/cron.d/x' })).rejects.toThrow(
      'output_path: must be declared in configSchema of singer(), which is not set',
    );
    const { id } = await create();
    await expect(connections.setConfig(id, { host: 'db.internal' })).rejects.toThrow(
      'host: must be declared',
    );
    // Config written by another writer fails the run before the tap starts.
    await sql(`UPDATE connections SET config = '{"host":"db.internal"}'`);
    const engine = engineWith({});
    await engine.connections.trigger(id);
    expect(await engine.drain()).toMatchObject({ succeeded: 0, failed: 1 });
    expect((await engine.connections.explain(id)).sentence).toContain('host: must be declared');
  });

  it("singer: passes only the output of configSchema, and the author's config takes precedence", async () => {
    const configSchema = z.object({ start_date: z.string(), base_url: z.string().optional() });
    const sent = { start_date: '2025-01-01', base_url: 'http://evil.example', output_path: '/etc/passwd' };
    expect(await configOf({ configSchema, config: { base_url: 'https://own.example' } }, sent)).toEqual({
      ...{ start_date: '2025-01-01', base_url: 'https://own.example' },
    });
  });

  it('singer: a credential cannot override author config or add keys outside credentialSchema', async () => {
    const fields = {
      token: 'a-token-of-the-account',
      base_url: 'http://evil.example',
      ca_file: '/etc/shadow',
    };
    expect(await configOf({ config: { base_url: 'https://own.example' } }, {}, fields)).toEqual({
      ...{ token: 'a-token-of-the-account', base_url: 'https://own.example', ca_file: '/etc/shadow' },
    });
    const credentialSchema = z.object({ token: z.string() });
    expect(await configOf({ credentialSchema }, {}, fields)).toEqual({ token: 'a-token-of-the-account' });
  });
});
