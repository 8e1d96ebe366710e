import type { ProblemBody } from '../http/index.ts';
import type {
  Page as ApiPage,
  attentionJson,
  auditEventJson,
  bulkActions,
  bulkJson,
  connectionJson,
  credentialJson,
  cursorJson,
  deletionJson,
  explanationJson,
  Json,
  jobDetailJson,
  jobJson,
  keyJson,
  loadJson,
  meJson,
  overviewJson,
  providerJson,
  repairJson,
  scheduleJson,
  seriesJson,
  signalJson,
  systemJson,
  tenantJson,
} from '../index.ts';

/** From the API's models. Times are ISO 8601 in UTC. */

export interface Page<Item> extends Omit<Json<ApiPage<never>>, 'items'> {
  items: Item[];
}

/** Also failures without a problem document. */
export interface Problem extends Omit<ProblemBody, 'type' | 'code'> {
  code: ProblemBody['code'] | 'UNREACHABLE' | 'PAGE' | 'UNKNOWN';
}

export type Me = ReturnType<typeof meJson>;
export type Tenant = ReturnType<typeof tenantJson>;
export type Provider = ReturnType<typeof providerJson>;
/** `key` only after its creation. */
export type ApiKey = ReturnType<typeof keyJson> & { key?: string };
export type Credential = ReturnType<typeof credentialJson>;
export type AuditEvent = ReturnType<typeof auditEventJson>;

export type Connection = ReturnType<typeof connectionJson>;
export type RecentRun = NonNullable<Connection['recent']>[number];
export type Explanation = ReturnType<typeof explanationJson>;
export type Schedule = ReturnType<typeof scheduleJson>;
export type StoredCursor = ReturnType<typeof cursorJson>;
export type BulkAction = Exclude<(typeof bulkActions)[number], 'delete'>;
export type BulkStep = ReturnType<typeof bulkJson>;
export type RepairStep = ReturnType<typeof repairJson>;
export type Deletion = ReturnType<typeof deletionJson>;

export type Job = ReturnType<typeof jobJson>;
export type JobDetail = ReturnType<typeof jobDetailJson>;
export type Run = JobDetail['runs'][number];
export type LogLine = Run['log'][number];
export type RunError = NonNullable<Run['error']>;
export type Signal = ReturnType<typeof signalJson>;

export type Stats = ReturnType<typeof overviewJson>;
export type Count = Stats['connections']['total'];
export type Series = ReturnType<typeof seriesJson>;
export type SeriesPoint = Series['points'][number];
export type Load = ReturnType<typeof loadJson>;
export type AttentionItem = ReturnType<typeof attentionJson>['items'][number];
export type SystemInfo = ReturnType<typeof systemJson>;
export type ProcessInfo = SystemInfo['processes'][number];
export type TableInfo = SystemInfo['tables'][number];
