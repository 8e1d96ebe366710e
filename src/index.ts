/** HTTP server and CLI use nothing else of the engine. */

// The engine

export { type ConfigFile, defineConfig } from './config/define.ts';
export type { Config, ConfigOptions } from './config/settings.ts';
export type { CheckResult, DoctorReport } from './doctor/index.ts';
export type { TickResult } from './pipeline/events.ts';
export { type Ports, systemPorts } from './platform/ports.ts';
export { type DrainResult, type Engine, type Role, roles, type WorkTotals } from './runtime/index.ts';
export type { MigrationResult, MigrationStep } from './store/migrate.ts';
export { createSyncline, type Syncline, type SynclineOptions } from './syncline.ts';
export type { TelemetryProviders } from './telemetry/index.ts';

// The API of one caller

export type {
  AuditApi,
  ConnectionsApi,
  JobsApi,
  KeysApi,
  ProvidersApi,
  StatsApi,
  Status,
  SynclineApi,
  TenantsApi,
} from './api/index.ts';
export type { BudgetsApi } from './budgets/index.ts';
export type { AuditNote } from './caller/audit.ts';
export type { Caller } from './caller/caller.ts';
export type { Page, PageRequest } from './caller/keyset.ts';
export type { CredentialsApi } from './credentials/index.ts';
export type { ConsumersApi, SignalsApi } from './feed/index.ts';
export type { WebhooksApi } from './webhooks/index.ts';

// Its arguments

export {
  type BulkAction,
  type BulkRequest,
  bulkActions,
  type ListedConnections,
  type ListedEvents,
  type ListedJobs,
  type ListedTenants,
  type NewConnection,
  type NewConnectionFor,
  type NewProvider,
  type RepairRequest,
  type TriggerRequest,
} from './api/index.ts';
export type { ListedBudgets } from './budgets/index.ts';
export { type Secret, secretTypes } from './contract/credential.ts';
export type { AuthorizationRequest, ListedCredentials, NewCredential } from './credentials/index.ts';
export type {
  FeedOptions,
  FeedRead,
  ListedSignals,
  PageReadWrapper,
  SignalsFilter,
} from './feed/index.ts';
export { minIntervalSeconds } from './schedule/interval.ts';
export { type ParsedSchedule, parseSchedule, type ScheduleProblem } from './schedule/parse-schedule.ts';
export {
  type Schedule,
  type ScheduleInput,
  scheduleLimits,
  scheduleText,
  type Weekday,
  weekdays,
} from './schedule/schedule.ts';

// Its results

export type {
  ApiKey,
  ApiKeyDetail,
  AttentionItem,
  AuditEvent,
  BulkStep,
  Connection,
  ConnectionEvent,
  ConnectionSync,
  Explanation,
  Job,
  JobDetail,
  Load,
  NewApiKey,
  Overview,
  ProcessInfo,
  Provider,
  RepairedConnection,
  RepairStep,
  Run,
  RunWindow,
  SchedulePreview,
  Series,
  SeriesPoint,
  StoredCursor,
  SystemInfo,
  TableInfo,
  Tenant,
  Totals,
  TriggerResult,
} from './api/index.ts';
export type { BudgetStatus } from './budgets/index.ts';
export type { ConnectionHealth, ConnectionStatus, JobStatus, JobType } from './contract/states.ts';
export type { Authorization, RotationProgress, StoredCredential } from './credentials/index.ts';
export type { Consumer, FeedPage, FeedSignal, StoredSignal, TypedSignal } from './feed/index.ts';
export type { Deletion } from './runtime/index.ts';
export type { InvalidField } from './schedule/sync-metadata.ts';
export type { ConnectionWebhook, NewConnectionWebhook } from './webhooks/index.ts';

// For custom servers

export type { Access, Identity, Refused } from './api/index.ts';
export type { Delivery } from './contract/webhook.ts';
export {
  authorizationTtlMs,
  type ConsentCallback,
  type ConsentRequest,
  type ConsentResult,
  type OAuthApi,
  type StartedConsent,
} from './credentials/index.ts';
export type { DeliveriesApi, Receipt } from './webhooks/index.ts';

// For custom servers: JSON of results

export {
  attentionJson,
  auditEventJson,
  bulkJson,
  connectionEventJson,
  connectionJson,
  cursorJson,
  explanationJson,
  jobDetailJson,
  jobJson,
  keyDetailJson,
  keyJson,
  loadJson,
  meJson,
  newKeyJson,
  overviewJson,
  providerJson,
  repairJson,
  scheduleJson,
  scopeOf,
  seriesJson,
  systemJson,
  tenantJson,
  triggerJson,
} from './api/index.ts';
export { budgetJson } from './budgets/index.ts';
export { authorizationJson, credentialJson } from './credentials/index.ts';
export { consumerJson, feedSignalJson, signalJson } from './feed/index.ts';
export { deletionJson } from './runtime/index.ts';
export type { Json, ToJson } from './values/model.ts';
export { newWebhookJson, webhookJson } from './webhooks/index.ts';

// Connectors

export {
  type Connector,
  type ConnectorDefinition,
  defineConnector,
  type PayloadsOf,
  type Signal,
  type SignalOf,
  type SignalSchemas,
  type SyncContext,
  type SyncResult,
} from './contract/connector.ts';
export type { Credential, CredentialHandle, OAuth2 } from './contract/credential.ts';
export {
  CursorExpiredError,
  PermanentError,
  RateLimitedError,
  SynclineError,
  type SynclineErrorCode,
  TransientError,
  UnauthorizedError,
} from './contract/errors.ts';
