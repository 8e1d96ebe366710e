export { type Authenticate, createHandler, type HandlerOptions } from './http/index.ts';
export type { Caller } from './index.ts';
