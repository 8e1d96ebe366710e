export type { Caller } from './caller/caller.ts';
export { type Authenticate, type HandlerOptions, synclineHandler } from './http/index.ts';
