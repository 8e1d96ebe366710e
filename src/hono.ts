export { type Authenticate, type HandlerOptions, synclineHandler } from './http/index.ts';
export type { Caller } from './index.ts';
