export type { Budget, BudgetNews, Budgets, BudgetUse } from '../contract/budget.ts';
export type { Clock } from '../contract/clock.ts';
export {
  type Connector,
  type ConnectorDefinition,
  defineConnector,
  type JobType,
  type PayloadsOf,
  type Signal,
  type SignalOf,
  type SignalSchemas,
  type SyncContext,
  type SyncResult,
} from '../contract/connector.ts';
export type { Credential, CredentialHandle, OAuth2 } from '../contract/credential.ts';
export {
  CursorExpiredError,
  PermanentError,
  RateLimitedError,
  TransientError,
  UnauthorizedError,
} from '../contract/errors.ts';
export {
  githubReaction,
  githubSignature,
  type HmacOptions,
  hmacSignature,
  slackReaction,
  slackSignature,
} from '../contract/signatures.ts';
export type { Delivery, Reaction, Webhook } from '../contract/webhook.ts';
export { type Authorize, apiKeyHeader, apiKeyQuery, bearer, optional } from './authorize.ts';
export { createHttp, type Http, type HttpOptions, type HttpRequest, type HttpResponse } from './http.ts';
export { contentHash, versionKey } from './keys.ts';
export { lastLink, nextLink } from './link.ts';
export { isPublicAddress } from './network.ts';
export { retryAfterSeconds, secondsUntil, serverTimeMs } from './rate-limit-headers.ts';
export type { ReceivedAnswer } from './refusals.ts';
export { excerpt } from './refusals.ts';
export { type StreamsCursor, streamsCursor, syncStreams } from './streams.ts';
export { typeOnly } from './type-only.ts';
export { createValidators, type Validators, validatorsCursor } from './validators.ts';
export {
  type AscendingCursor,
  ascend,
  ascendingCursor,
  type DescendingCursor,
  descend,
  descendingCursor,
  lookback,
} from './walks.ts';
