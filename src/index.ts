export type { BudgetStatus } from './budgets.ts';
export { type ConfigFile, defineConfig } from './config/file.ts';
export type { Config, ConfigOptions } from './config/settings.ts';
export type { Connection, ConnectionSync } from './connection.ts';
export type { PreviewedRun, SchedulePreview } from './connections.ts';
export {
  type Connector,
  type ConnectorDefinition,
  defineConnector,
  type JobType,
  type Signal,
  type SyncContext,
  type SyncResult,
} from './connector.ts';
export type { ConnectionEvent, Triggered } from './control.ts';
export type { Credential, CredentialHandle, OAuth2, Secret } from './credentials/credential.ts';
export type { StoredCredential } from './credentials.ts';
export type { Deletion } from './deletions.ts';
export type { CheckResult, Examination } from './doctor/doctor.ts';
export type { Doer } from './doer.ts';
export {
  CursorExpiredError,
  PermanentError,
  RateLimitedError,
  SynclineError,
  type SynclineErrorCode,
  TransientError,
  UnauthorizedError,
} from './errors.ts';
export type { Explanation } from './explain.ts';
export type { FedSignal } from './feed/feed.ts';
export type { Attempt, JobDetail } from './job-detail.ts';
export type { Job } from './jobs.ts';
export type { Page, PageRequest } from './page.ts';
export type { TickResult } from './pipeline/tick.ts';
export { type Ports, systemPorts } from './ports.ts';
export type { WorkTotals } from './runtime/executor.ts';
export type { InvalidField } from './schedule/sync-metadata.ts';
export type { SignalsFilter, StoredSignal } from './signals.ts';
export type { ConnectionStatus } from './store/connections.ts';
export type { MigrationResult } from './store/migrate.ts';
export { createSyncline, type Role, type Status, type Syncline, type SynclineOptions } from './syncline.ts';
export type { View } from './view.ts';
export type { Who } from './who.ts';
