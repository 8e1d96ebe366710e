import { OpenAPIHono } from '@hono/zod-openapi';
import { dashboardRoutes } from './assets.ts';
import { requireCaller } from './auth.ts';
import { readBody } from './body.ts';
import { createBodyBudget } from './body-budget.ts';
import { createClientAddress } from './client-address.ts';
import { callbackPath, consentPath } from './consent-cookies.ts';
import { type App, type AppOptions, type HttpEnv, limitsOf } from './context.ts';
import {
  requireHost,
  requireReadableUrl,
  secureAndLocate,
  setClientAddress,
  shedLoad,
  withRequestSlot,
} from './guard.ts';
import { createKeyCache } from './key-cache.ts';
import { boundResponses } from './large-responses.ts';
import { defaultLiveTimes } from './live.ts';
import { createLoopDelay } from './loop-delay.ts';
import { routedPath } from './mount-path.ts';
import { openApiRoute } from './openapi.ts';
import { Problem, toProblem } from './problem.ts';
import { createRefusalPause } from './refusal-pause.ts';
import { recordingRefusals, recordRefusals } from './refusals.ts';
import { createRequestLimit } from './request-limit.ts';
import { createResponseMemory } from './response-memory.ts';
import { auditRoutes } from './routes/audit.ts';
import { authorizeRoute, callbackRoute, consentRoutes } from './routes/authorize.ts';
import { budgetRoutes } from './routes/budgets.ts';
import { connectionControlRoutes } from './routes/connection-control.ts';
import { connectionInsightRoutes } from './routes/connection-insight.ts';
import { connectionRoutes } from './routes/connections.ts';
import { consumerRoutes } from './routes/consumers.ts';
import { credentialRoutes } from './routes/credentials.ts';
import { demoRoutes } from './routes/demo.ts';
import { feedRoutes } from './routes/feed.ts';
import { healthRoutes } from './routes/health.ts';
import { jobRoutes } from './routes/jobs.ts';
import { keyRoutes } from './routes/keys.ts';
import { liveRoutes } from './routes/live.ts';
import { localLoginRoute } from './routes/login.ts';
import { metricsRoute } from './routes/metrics.ts';
import { providerRoutes } from './routes/providers.ts';
import { loginRoute, sessionRoutes } from './routes/session.ts';
import { signalRoutes } from './routes/signals.ts';
import { statsRoutes } from './routes/stats.ts';
import { systemRoutes } from './routes/system.ts';
import { tenantRoutes } from './routes/tenants.ts';
import { deliveryRoute, webhookRoutes } from './routes/webhooks.ts';
import { refuseInvalid } from './validation.ts';
import { createViews } from './views.ts';

export function createApp(options: AppOptions): App {
  const { syncline, log, version, metrics, dashboard, localLogin, signal, authenticate } = options;
  const { access, ports } = syncline;
  const closing = signal ?? new AbortController().signal;
  const limits = { ...limitsOf(syncline.config.server), ...options.limits };
  const { perAddress } = limits;
  const inSlot = withRequestSlot({
    callers: createRequestLimit({ total: limits.requests, resource: 'requests' }),
    visitors: createRequestLimit({
      total: limits.visitors,
      perHolder: perAddress,
      resource: 'requests without a key',
    }),
  });
  const streams = createRequestLimit({
    total: limits.streams,
    resource: 'live streams and long polls',
  });
  const refusals = options.refusals ?? recordRefusals(syncline, log, signal);
  const keyCache = recordingRefusals(createKeyCache(access, ports.monotonicMs), refusals);
  const viewOf = createViews(syncline);
  const asCaller = requireCaller({ viewOf, keyCache, authenticate });
  const bodiesWithin = (maxBytes: number, totalBytes: number) =>
    readBody(
      { maxBytes, maxMs: limits.bodyMs, ports },
      {
        budget: createBodyBudget(totalBytes),
        slots: createRequestLimit({
          total: limits.bodies,
          perHolder: perAddress,
          resource: 'incomplete bodies',
        }),
      },
    );
  const withBody = bodiesWithin(limits.bodyBytes, limits.bodiesBytes);
  // Own slots and memory: visitors cannot starve callers.
  const withVisitorBody = bodiesWithin(limits.visitorBodyBytes, limits.bodies * limits.visitorBodyBytes);
  const pauseRefusal = createRefusalPause(limits.refusalMs, ports, closing);
  const app: App = new OpenAPIHono<HttpEnv>({
    defaultHook: refuseInvalid,
    getPath: (request, context) => routedPath(request, options.basePath, context?.env),
  });

  app.onError(async (error) => {
    const problem = toProblem(error, log);
    await pauseRefusal(problem);
    return problem.toResponse();
  });
  app.use('*', secureAndLocate(options.basePath));
  if (options.hosts) app.use('*', requireHost(options.hosts));
  app.use('*', requireReadableUrl(limits));
  // Health checks must work under overload.
  healthRoutes(app, syncline);
  app.use('*', shedLoad(options.loopDelayMs ?? createLoopDelay(ports, closing), limits.loopDelayMs));
  app.use('*', setClientAddress(createClientAddress(syncline.config.server)));

  loginRoute(app, { syncline, keyCache, version, middleware: [withVisitorBody, inSlot] });
  if (localLogin) localLoginRoute(app, { access, keyCache, localLogin });
  // Before authentication: account owners have no key. Before /v1/connections/{id}, which matches too.
  app.use(consentPath, withVisitorBody, inSlot);
  app.use(callbackPath, inSlot);
  consentRoutes(app, syncline);
  callbackRoute(app, syncline);
  app.use('/openapi.json', inSlot);
  openApiRoute(app, version);
  deliveryRoute(app, syncline, limits);

  app.use(
    '/v1/*',
    asCaller,
    withBody,
    inSlot,
    boundResponses(createResponseMemory(limits.responsesBytes, ports), ports),
  );
  sessionRoutes(app, access, keyCache, version);
  tenantRoutes(app);
  providerRoutes(app);
  connectionRoutes(app);
  connectionInsightRoutes(app);
  connectionControlRoutes(app);
  webhookRoutes(app);
  authorizeRoute(app, syncline.config.server);
  credentialRoutes(app);
  jobRoutes(app);
  // Before /v1/signals/{id}, which matches too.
  feedRoutes(app, streams, signal);
  signalRoutes(app);
  consumerRoutes(app);
  statsRoutes(app);
  budgetRoutes(app);
  auditRoutes(app);
  keyRoutes(app, keyCache);
  systemRoutes(app, version);
  if (options.demo) demoRoutes(app, options.demo);
  liveRoutes(app, { ports, streams, times: { ...defaultLiveTimes, ...options.live }, version, log, signal });
  if (metrics) {
    app.use('/metrics', asCaller, inSlot);
    metricsRoute(app, metrics);
  }

  refuseOtherMethods(app);
  app.use('*', inSlot);
  if (dashboard !== undefined) dashboardRoutes(app, dashboard, { isDemo: options.demo !== undefined });
  app.all('*', (c) => {
    const path = c.get('path').slice(0, 200);
    const unstripped = /^(\/.+?)\/v1\//.exec(path)?.[1];
    throw new Problem('NOT_FOUND', `There is no route ${c.req.method} ${path}.`, {
      hint: unstripped
        ? `If Syncline is mounted at ${unstripped}, set the handler option basePath to it.`
        : `All routes: ${c.get('base')}/openapi.json`,
    });
  });
  return app;
}

function refuseOtherMethods(app: App): void {
  const methods = new Map<string, string[]>();
  for (const definition of app.openAPIRegistry.definitions) {
    if (definition.type !== 'route') continue;
    const { path, method } = definition.route;
    const names = method === 'get' ? ['GET', 'HEAD'] : [method.toUpperCase()];
    methods.set(path, [...(methods.get(path) ?? []), ...names]);
  }
  for (const [path, allowed] of methods)
    app.all(path.replaceAll(/\{(.+?)\}/g, ':$1'), (c) => {
      const allow = allowed.join(', ');
      throw new Problem('INVALID_ARGUMENT', `${c.req.method} is not allowed; use ${allow}.`, {
        status: 405,
        headers: { allow },
      });
    });
}
