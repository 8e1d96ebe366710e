import type { Page } from '../page.ts';
import type { View } from '../view.ts';

/** What the engine answers with, named for the files that turn it into JSON. */

type Answer<Method extends (...args: never[]) => Promise<unknown>> = Awaited<ReturnType<Method>>;
type Listed<Method extends (...args: never[]) => Promise<Page<unknown>>> = Answer<Method>['items'][number];

export type Tenant = Answer<View['tenants']['get']>;
export type Provider = Listed<View['providers']['list']>;
export type Connection = Answer<View['connections']['get']>;
export type ListedConnection = Listed<View['connections']['list']>;
export type StoredCursor = Listed<View['connections']['cursors']>;
export type Job = Listed<View['jobs']['list']>;
export type JobDetail = Answer<View['jobs']['get']>;
export type Signal = Listed<View['signals']['list']>;
export type FedSignal = Answer<View['signals']['read']>['items'][number];
export type Consumer = Answer<View['consumers']['get']>;
export type Overview = Answer<View['stats']['overview']>;
export type Series = Answer<View['stats']['series']>;
export type Load = Answer<View['stats']['load']>;
export type Attention = Answer<View['stats']['attention']>[number];
export type AuditEvent = Listed<View['audit']['list']>;
export type ApiKey = Listed<View['keys']['list']>;
export type SystemInfo = Answer<View['system']>;
