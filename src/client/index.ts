/** For browsers and Node, without the engine. */
export { SynclineError } from '../contract/errors.ts';
export { type Client, createClient, type FeedQuery } from './client.ts';
export { type HttpErrorCode, SynclineHttpError } from './http-error.ts';
export type { CallOptions, ListPath, OptionsOf, PathWith, ResponseOf } from './operations.ts';
export type { ClientOptions } from './options.ts';
export type * from './schema.ts';
