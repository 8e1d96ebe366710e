import { createRoute, z } from '@hono/zod-openapi';
import { operatorOnly } from '../auth.ts';
import type { App } from '../context.ts';
import { problems, signedIn } from '../responses.ts';

export function metricsRoute(app: App, metrics: () => Promise<string> | string): void {
  app.openapi(
    createRoute({
      method: 'get',
      path: '/metrics',
      operationId: 'getMetrics',
      middleware: operatorOnly,
      tags: ['Health'],
      security: signedIn,
      summary: 'Metrics of this process',
      description: 'Operators only. Prometheus text format.',
      responses: {
        200: { description: 'The metrics.', content: { 'text/plain': { schema: z.string() } } },
        ...problems(),
      },
    }),
    async (c) => c.text(await metrics(), 200, { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' }),
  );
}
