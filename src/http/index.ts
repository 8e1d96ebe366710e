export type { DemoProviders } from './demo-providers.ts';
export { type BoundHandler, bodyState, createBoundHandler, createHandler } from './handler.ts';
export type { Authenticate, HandlerOptions } from './handler-options.ts';
export { createLocalLogin, type LocalLogin } from './local-login.ts';
export { matchedPrefix, pathAbove } from './mount-path.ts';
export { nodeListener } from './node.ts';
export { type ParsedRequest, restoreBody } from './parsed-body.ts';
export type { HttpServer } from './server.ts';
export { startHttpService } from './service.ts';
