import type { Setting } from './setting.ts';
import { credentials } from './settings/credentials.ts';
import { database } from './settings/database.ts';
import { executor } from './settings/executor.ts';
import { log } from './settings/log.ts';
import { metrics } from './settings/metrics.ts';
import { rateLimit } from './settings/rate-limit.ts';
import { retention } from './settings/retention.ts';
import { scheduler } from './settings/scheduler.ts';
import { server } from './settings/server.ts';

export const settings = {
  database,
  scheduler,
  executor,
  rateLimit,
  retention,
  server,
  credentials,
  metrics,
  log,
} as const;

type Settings = typeof settings;
type ValueOf<S> = S extends Setting<infer T> ? T : never;

/** The effective settings, complete and validated. */
export type Config = {
  readonly [Section in keyof Settings]: {
    readonly [Key in keyof Settings[Section]]: ValueOf<Settings[Section][Key]>;
  };
};

type SectionOptions = {
  [Section in keyof Config]?:
    | { [Key in keyof Config[Section]]?: Config[Section][Key] | undefined }
    | undefined;
};

/** `database` may be just its URL. */
export type ConfigOptions = Omit<SectionOptions, 'database'> & {
  database?: SectionOptions['database'] | string;
};
