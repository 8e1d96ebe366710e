import type { Logger } from 'pino';
import type { Syncline } from '../index.ts';
import { version } from '../platform/version.inline.ts';
import { createApp } from './app.ts';
import { loadDashboard } from './assets.ts';
import type { DemoProviders } from './demo-providers.ts';
import { hostRule } from './hosts.ts';
import type { LocalLogin } from './local-login.ts';
import { recordRefusals } from './refusals.ts';
import { type HttpServer, startServer } from './server.ts';

export interface HttpServiceOptions {
  syncline: Syncline;
  log: Logger;
  metrics?: (() => Promise<string> | string) | undefined;
  localLogin?: LocalLogin | undefined;
  demo?: DemoProviders | undefined;
  port?: number;
}

export async function startHttpService({
  syncline,
  log,
  metrics,
  localLogin,
  demo,
  port = syncline.config.server.port,
}: HttpServiceOptions): Promise<HttpServer> {
  const { host, hosts } = syncline.config.server;
  const refusals = recordRefusals(syncline, log);
  const closing = new AbortController();
  const app = createApp({
    syncline,
    log,
    version,
    metrics,
    dashboard: loadDashboard,
    localLogin,
    demo,
    hosts: hostRule(host, hosts),
    refusals,
    signal: closing.signal,
  });
  const server = await startServer({ app, host, port, ports: syncline.ports });
  return {
    url: server.url,
    close: async () => {
      await server.close();
      closing.abort();
      await refusals.close();
    },
  };
}
