import { OpenAPIHono } from '@hono/zod-openapi';
import { dashboardRoutes } from './assets.ts';
import { requireCaller } from './auth.ts';
import { readBody } from './body.ts';
import { type App, type AppOptions, type HttpEnv, usualLimits } from './context.ts';
import { createCredentials } from './credentials.ts';
import { limitConcurrency, requireHost, requireReadableUrl, secureAndLocate } from './guard.ts';
import { usualLiveTimes } from './live.ts';
import { openApiRoute } from './openapi.ts';
import { Problem, toProblem } from './problem.ts';
import { auditRoutes } from './routes/audit.ts';
import { authorizeRoute, callbackRoute } from './routes/authorize.ts';
import { budgetRoutes } from './routes/budgets.ts';
import { connectionControlRoutes } from './routes/connection-control.ts';
import { connectionInsightRoutes } from './routes/connection-insight.ts';
import { connectionRoutes } from './routes/connections.ts';
import { consumerRoutes } from './routes/consumers.ts';
import { credentialRoutes } from './routes/credentials.ts';
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
import { createSlots } from './slots.ts';
import { refuseInvalid } from './validation.ts';

/** The whole service as one app: the API under /v1, what describes it, probes, and the dashboard. */
export function createApp(options: AppOptions): App {
  const { syncline, log, version, metrics, dashboard, localLogin, signal, authenticate } = options;
  const { access } = syncline;
  const limits = { ...usualLimits, ...options.limits };
  const requests = createSlots({ total: limits.requests, of: 'requests' });
  const streams = createSlots({
    total: limits.streams,
    perHolder: limits.streamsPerCaller,
    of: 'live streams and long polls',
  });
  const credentials = createCredentials(access);
  const asCaller = requireCaller({ syncline, credentials, authenticate });
  const withBody = readBody(limits.bodyBytes);
  const app: App = new OpenAPIHono<HttpEnv>({ defaultHook: refuseInvalid });

  app.onError((error) => toProblem(error, log).toResponse());
  app.use('*', secureAndLocate(options.basePath));
  if (options.hosts) app.use('*', requireHost(options.hosts));
  app.use('*', requireReadableUrl(limits));
  app.use('*', limitConcurrency(requests));

  healthRoutes(app, syncline);
  loginRoute(app, { syncline, credentials, version, readBody: withBody });
  if (localLogin) localLoginRoute(app, { access, credentials, localLogin });
  // Before the connections by id, of which "callback" is none; whoever comes back from a provider has no key.
  callbackRoute(app, syncline);
  openApiRoute(app, version);
  deliveryRoute(app, syncline, limits);

  // From here on everybody is known, and what they may see is all that the handlers get.
  app.use('/v1/*', asCaller, withBody);
  sessionRoutes(app, access, credentials, version);
  tenantRoutes(app);
  providerRoutes(app);
  connectionRoutes(app);
  connectionInsightRoutes(app);
  connectionControlRoutes(app);
  webhookRoutes(app);
  authorizeRoute(app, syncline.config.server);
  credentialRoutes(app);
  jobRoutes(app);
  // Before the signals by id, of which "feed" is none.
  feedRoutes(app, streams, signal);
  signalRoutes(app);
  consumerRoutes(app);
  statsRoutes(app);
  budgetRoutes(app);
  auditRoutes(app);
  keyRoutes(app, credentials);
  systemRoutes(app, version);
  liveRoutes(app, { streams, times: { ...usualLiveTimes, ...options.live }, version, log, signal });
  if (metrics) {
    app.use('/metrics', asCaller);
    metricsRoute(app, metrics);
  }

  refuseOtherMethods(app);
  if (dashboard !== undefined) dashboardRoutes(app, dashboard);
  // A handler of its own rather than notFound, which is not asked where the app is mounted in another.
  app.all('*', (c) => {
    throw new Problem('NOT_FOUND', `There is no ${c.req.method} ${c.get('path').slice(0, 200)} here.`, {
      hint: `Everything there is: ${c.get('base')}/openapi.json`,
    });
  });
  return app;
}

/** A path that is known with a method that is not: says which are. */
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
      throw new Problem('INVALID_ARGUMENT', `${c.req.method} is not possible here, only ${allow}.`, {
        status: 405,
        headers: { allow },
      });
    });
}
