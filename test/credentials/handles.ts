import { randomBytes } from 'node:crypto';
import type { Logger } from 'pino';
import { loadConfig } from '../../src/config/load.ts';
import { createCredentialHandles } from '../../src/credentials/handles.ts';
import { createVault } from '../../src/credentials/vault.ts';
import {
  type Connector,
  type CredentialHandle,
  defineConnector,
  type OAuth2,
  type Ports,
} from '../../src/index.ts';
import type { ClaimedJob } from '../../src/pipeline/claim.ts';
import { openDatabase } from '../../src/store/database.ts';
import { cleanUpAfterEach } from '../support/cleanup.ts';
import { testPorts } from '../support/clock.ts';
import { silent, type TestDatabase, tenant } from '../support/database.ts';

export const newKey = (id = 'k1') => `${id}:${randomBytes(32).toString('base64')}`;

export const oauthConnector = (oauth2: OAuth2, provider = 'github'): Connector =>
  defineConnector({ provider, name: provider, oauth2, sync: async () => ({ signals: [] }) });

const opened: { close(): Promise<void> }[] = [];
cleanUpAfterEach(async () => {
  await Promise.all(opened.splice(0).map((db) => db.close()));
});

export interface HandleOptions {
  keys: string[];
  connectors?: Connector[];
  ports?: Ports;
  log?: Logger;
}

/** The credential handles of one process; each call simulates another process. */
export function handlesOn(
  database: TestDatabase,
  { keys, connectors = [], ports = testPorts(), log = silent }: HandleOptions,
): (credentialId: string | undefined, signal?: AbortSignal, tenantId?: string) => CredentialHandle {
  const { config } = loadConfig({ options: { database: database.url } });
  const db = openDatabase(config.database, { ports, onConnectionLost: () => {}, onSkew: () => {} });
  opened.push(db);
  const handles = createCredentialHandles({
    db,
    ports,
    log,
    vault: createVault(keys),
    connectors: new Map(connectors.map((connector) => [connector.provider, connector])),
    config: config.database,
    closing: new AbortController().signal,
  });
  return (credentialId, signal = new AbortController().signal, tenantId = tenant) =>
    handles({ tenantId, connection: { credentialId } } as ClaimedJob, signal);
}
