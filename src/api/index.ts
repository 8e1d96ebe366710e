export { type TriggerResult, triggerJson } from '../pipeline/model.ts';
export { type Access, createAccess, type Identity, type KeysApi, type Refused } from './access.ts';
export type { AuditApi, ListedEvents } from './audit.ts';
export {
  type BulkAction,
  type BulkRequest,
  bulkActions,
  type ConnectionsApi,
  type ListedConnections,
  type NewConnection,
  type NewConnectionFor,
  type RepairRequest,
  type TriggerRequest,
} from './connections/api.ts';
export { type Connection, type ConnectionSync, connectionJson } from './connections/model.ts';
export {
  type BulkStep,
  bulkJson,
  cursorJson,
  type Explanation,
  explanationJson,
  type RepairedConnection,
  type RepairStep,
  type RunWindow,
  repairJson,
  type SchedulePreview,
  type StoredCursor,
  scheduleJson,
} from './connections/results.ts';
export { createApi, type SynclineApi } from './create-api.ts';
export { withDatabaseErrors } from './database-errors.ts';
export type { JobsApi, ListedJobs } from './jobs/index.ts';
export { type Job, type JobDetail, jobDetailJson, jobJson, type Run } from './jobs/model.ts';
export {
  type ApiKey,
  type ApiKeyDetail,
  type AuditEvent,
  auditEventJson,
  type ConnectionEvent,
  connectionEventJson,
  keyDetailJson,
  keyJson,
  meJson,
  type NewApiKey,
  newKeyJson,
  type Provider,
  providerJson,
  scopeOf,
  type Tenant,
  tenantJson,
} from './model.ts';
export { sharePool } from './pool-shares.ts';
export type { ListedTenants, NewProvider, ProvidersApi, TenantsApi } from './registry.ts';
export type { StatsApi } from './stats.ts';
export {
  type AttentionItem,
  attentionJson,
  type Load,
  loadJson,
  type Overview,
  overviewJson,
  type ProcessInfo,
  type Series,
  type SeriesPoint,
  type SystemInfo,
  seriesJson,
  systemJson,
  type TableInfo,
  type Totals,
} from './stats-model.ts';
export { createStatus, type Status } from './status.ts';
