export type { Authenticate, DemoProviders } from './context.ts';
export { type HandlerOptions, synclineHandler } from './handler.ts';
export { createLocalLogin, type LocalLogin } from './local-login.ts';
export type { HttpServer } from './server.ts';
export { startHttpService } from './service.ts';
