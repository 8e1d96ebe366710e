/**
 * Names that code blocks of README.md and docs/ may use without declaring them. A comment right before a block
 * imports them, invisibly to readers: `<!-- setup: syncline, tenantId -->`.
 */
import type { Hono } from 'hono';
import type { Client } from 'pg';
import type { Connection, FeedSignal, Syncline, Tenant } from 'syncline';
import type { Connector, Credential, Http, SyncContext } from 'syncline/connector';
import type { z } from 'zod';

export { createSyncline, defineConfig, SynclineError } from 'syncline';
export { createHttp, createValidators, defineConnector } from 'syncline/connector';
export { expect } from 'vitest';

export declare const syncline: Syncline;
export declare const tenant: Tenant;
export declare const tenantId: string;
export declare const connection: Connection;
export declare const connectionId: string;

/** Of the application. */
export declare const app: Hono;
export declare const pg: Client;
export declare const request: Request;
export declare const user: { email: string; tenantId: string; isAdmin: boolean };
export declare const session: { secret: string };
export declare function sessionOf(request: Request): Promise<typeof user | undefined>;
export declare function yourSession(request: Request): Promise<{ actor: string } | undefined>;
export declare function index(signal: FeedSignal): Promise<void>;

/** Of a connector and its tests. */
export declare const tracker: Connector;
export declare const config: { project: string };
export declare const provider: typeof fetch & { reset(): void };
export declare const token: string;
export declare const key: string;
export declare const url: string;
export declare const context: SyncContext;
export declare const http: Http;
export declare const issuesSchema: z.ZodArray<z.ZodObject<{ id: z.ZodNumber; updated_at: z.ZodString }>>;
export declare function call(credential: Credential): Promise<Response>;

/** Of a consent. */
export declare const redirectUri: string;
export declare const returnTo: string;
export declare const state: string;
export declare const code: string;
export declare const error: string;
