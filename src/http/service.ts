import type { Logger } from 'pino';
import type { Syncline } from '../syncline.ts';
import { createApp } from './app.ts';
import { hostRule } from './hosts.ts';
import type { LocalLogin } from './local-login.ts';
import { dashboardFolder, ownVersion } from './own.ts';
import { type HttpServer, startServer } from './server.ts';

export interface HttpServiceOptions {
  syncline: Syncline;
  log: Logger;
  metrics?: (() => Promise<string> | string) | undefined;
  localLogin?: LocalLogin | undefined;
  /** Another port than the configured one. */
  port?: number;
}

/** The API and the dashboard on a server of their own, as configured. */
export function startHttpService({
  syncline,
  log,
  metrics,
  localLogin,
  port = syncline.config.server.port,
}: HttpServiceOptions): Promise<HttpServer> {
  const { host, hosts, maxConcurrentRequests } = syncline.config.server;
  const app = createApp({
    syncline,
    log,
    version: ownVersion(),
    metrics,
    dashboard: dashboardFolder,
    localLogin,
    hosts: hostRule(host, hosts),
    limits: {
      requests: maxConcurrentRequests,
      streams: maxConcurrentRequests,
      streamsPerCaller: Math.ceil(maxConcurrentRequests / 2),
    },
  });
  return startServer({ app, host, port });
}
