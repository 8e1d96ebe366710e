import { z } from '@hono/zod-openapi';
import { operatorOnly } from '../auth.ts';
import type { App } from '../context.ts';
import type { DemoProviderList, DemoProviders } from '../demo-providers.ts';
import { Problem } from '../problem.ts';

const change = z.strictObject({ broken: z.boolean() });

/** Not in the OpenAPI document. */
export function demoRoutes(app: App, providers: DemoProviders): void {
  app.get('/v1/demo/providers', operatorOnly, (c) => c.json(listed(providers)));

  app.put('/v1/demo/providers/:slug', operatorOnly, async (c) => {
    const slug = c.req.param('slug');
    const body = change.safeParse(await c.req.json().catch(() => undefined));
    if (!body.success)
      throw new Problem('INVALID_ARGUMENT', 'The body must be {"broken": true} or {"broken": false}.');
    if (!providers.setBroken(slug, body.data.broken)) {
      const slugs = providers.list().map((provider) => provider.slug);
      throw new Problem('INVALID_ARGUMENT', `The demo has no provider "${slug.slice(0, 80)}".`, {
        hint: `Use one of: ${slugs.join(', ')}.`,
      });
    }
    return c.json(listed(providers));
  });
}

const listed = (providers: DemoProviders): DemoProviderList => ({
  items: providers.list().map(({ slug, name, isBroken }) => ({ slug, name, broken: isBroken })),
});
