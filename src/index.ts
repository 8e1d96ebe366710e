export type {
  Attempt,
  Connection,
  ConnectionEvent,
  ConnectionSync,
  Explanation,
  Job,
  JobDetail,
  PreviewedRun,
  SchedulePreview,
  Status,
  SynclineApi,
  TriggerResult,
} from './api/index.ts';
export type { BudgetStatus } from './budgets/index.ts';
export type { AuditNote } from './caller/audit.ts';
export type { Caller } from './caller/caller.ts';
export type { Page, PageRequest } from './caller/keyset.ts';
export { type ConfigFile, defineConfig } from './config/file.ts';
export type { Config, ConfigOptions } from './config/settings.ts';
export {
  type Connector,
  type ConnectorDefinition,
  defineConnector,
  type JobType,
  type Signal,
  type SyncContext,
  type SyncResult,
} from './contract/connector.ts';
export type { Credential, CredentialHandle, OAuth2, Secret } from './contract/credential.ts';
export {
  CursorExpiredError,
  PermanentError,
  RateLimitedError,
  SynclineError,
  type SynclineErrorCode,
  TransientError,
  UnauthorizedError,
} from './contract/errors.ts';
export type { ConnectionStatus } from './contract/states.ts';
export type { StoredCredential } from './credentials/index.ts';
export type { CheckResult, DoctorReport } from './doctor/index.ts';
export type { FeedSignal, SignalsFilter, StoredSignal } from './feed/index.ts';
export type { TickResult } from './pipeline/tick.ts';
export { type Ports, systemPorts } from './platform/ports.ts';
export type { Deletion, Role, WorkTotals } from './runtime/index.ts';
export type { InvalidField } from './schedule/sync-metadata.ts';
export type { MigrationResult } from './store/migrate.ts';
export { createSyncline, type Syncline, type SynclineOptions } from './syncline.ts';
