import { createRoute, z } from '@hono/zod-openapi';
import { SynclineError } from '../../contract/errors.ts';
import { newWebhookJson, type Syncline, webhookJson } from '../../index.ts';
import { omitUndefined } from '../../values/omit-undefined.ts';
import { readBefore, readBytes } from '../body.ts';
import { createBodyBudget } from '../body-budget.ts';
import type { App, Limits } from '../context.ts';
import { schemaOf } from '../model-schema.ts';
import { anyJson, id, strict } from '../parts.ts';
import { Problem } from '../problem.ts';
import { createRequestLimit } from '../request-limit.ts';
import { answer, body, bodyProblems, nothing, problems, signedIn } from '../responses.ts';

const tags = ['Webhooks'];

export function deliveryRoute(app: App, syncline: Syncline, limits: Limits): void {
  const budget = createBodyBudget(limits.deliveriesBytes);
  const slots = createRequestLimit({
    total: limits.deliveries,
    perHolder: limits.deliveriesPerAddress,
    resource: 'deliveries',
  });
  const bodyLimits = { maxBytes: limits.deliveryBytes, maxMs: limits.bodyMs, ports: syncline.ports };

  app.openapi(
    createRoute({
      method: 'post',
      path: '/v1/webhooks/{provider}/{connection}',
      operationId: 'deliver',
      tags,
      security: [],
      summary: 'Receive a webhook delivery',
      description:
        'Called by providers. The body can be anything up to 25 MB, signed with the secret of the ' +
        'connection or of the ' +
        'app. Triggers an immediate sync. A wrong signature, provider or connection gets the same 401; ' +
        'a secret that cannot be decrypted, 503.',
      // Unknown names get the same 401 as wrong signatures.
      request: { params: z.object({ provider: z.string(), connection: z.string() }) },
      responses: {
        200: {
          description: 'The reply of the connector.',
          content: {
            'application/json': { schema: anyJson('The reply of the connector.') },
            'text/plain': { schema: z.string() },
          },
        },
        202: answer('Accepted.', z.object({ accepted: z.literal(true) }).openapi('Accepted')),
        ...problems(413),
      },
    }),
    async (c) => {
      if (c.env?.body !== undefined) throw bytesUnknown();
      const held = budget.open();
      const release = slots.take(c.get('address'));
      try {
        const bytes = await readBytes(c, bodyLimits, held.take);
        const { provider, connection } = c.req.valid('param');
        const receipt = await syncline.webhooks.deliver(provider, connection, {
          method: c.req.method,
          headers: Object.fromEntries(c.req.raw.headers),
          body: Buffer.from(bytes.buffer),
        });
        if (!receipt.verified) throw notVerified();
        const { reply } = receipt;
        if (reply === undefined) return c.json({ accepted: true as const }, 202);
        return typeof reply === 'string' ? c.text(reply, 200) : c.json(reply, 200);
      } catch (error) {
        if (error instanceof SynclineError && error.code === 'CONFIG_INVALID') throw notVerifiable();
        throw error;
      } finally {
        held.release();
        release();
      }
    },
  );
}

/** 5xx: the provider retries until fixed. */
const bytesUnknown = () =>
  new Problem('INTERNAL', 'A body parser has read the delivery; its signature covers the raw bytes.', {
    hint: readBefore,
  });

/** 503: the provider retries until the configuration is fixed. */
const notVerifiable = () =>
  new Problem('UNAVAILABLE', 'The delivery cannot be verified at the moment.', {
    hint: 'Retry later. See the service log for details.',
    headers: { 'retry-after': '60' },
  });

/** The same for every cause: hides what exists. */
function notVerified(): Problem {
  return new Problem('UNAUTHENTICATED', 'The signature of the delivery is invalid.', {
    hint: 'Check the webhook URL and the secret at the provider.',
    headers: { 'www-authenticate': 'Signature realm="syncline"' },
  });
}

const params = z.object({ id: id() });
const security = signedIn;

export function webhookRoutes(app: App): void {
  app.openapi(
    createRoute({
      method: 'get',
      path: '/v1/connections/{id}/webhook',
      operationId: 'getWebhook',
      tags,
      security,
      summary: 'Show the webhook of a connection',
      description: 'Its path and the time of the last delivery, without the secret.',
      request: { params },
      responses: { 200: answer('The webhook.', schemaOf(webhookJson)), ...problems(404) },
    }),
    async (c) => {
      const webhook = await c.get('view').webhooks.get(c.req.valid('param').id);
      return c.json(withBasePath(c.get('base'), webhookJson(webhook)), 200);
    },
  );

  app.openapi(
    createRoute({
      method: 'put',
      path: '/v1/connections/{id}/webhook',
      operationId: 'putWebhook',
      tags,
      security,
      summary: 'Create or replace the webhook of a connection',
      description:
        'Sets a new secret, random by default; the previous one stops working. Only this response ' +
        'contains it.',
      request: {
        params,
        body: body(
          strict({
            secret: z
              .string()
              .min(16, 'must be text of 16 to 500 characters')
              .max(500, 'must be text of 16 to 500 characters')
              .openapi({
                description: 'The secret, if the provider generated it.',
                example: 'secret-from-provider',
              })
              .optional(),
          }),
          { required: false },
        ),
      },
      responses: {
        200: answer('The webhook, with its secret.', schemaOf(newWebhookJson)),
        ...bodyProblems(404, 409),
      },
    }),
    async (c) => {
      const { id } = c.req.valid('param');
      const webhook = await c.get('view').webhooks.create(id, omitUndefined(c.req.valid('json')));
      return c.json(withBasePath(c.get('base'), newWebhookJson(webhook)), 200);
    },
  );

  app.openapi(
    createRoute({
      method: 'delete',
      path: '/v1/connections/{id}/webhook',
      operationId: 'deleteWebhook',
      tags,
      security,
      summary: 'Delete the webhook of a connection',
      description: 'Deliveries signed with its secret are refused from now on.',
      request: { params },
      responses: { 204: nothing('Deleted.'), ...problems(404) },
    }),
    async (c) => {
      await c.get('view').webhooks.delete(c.req.valid('param').id);
      return c.body(null, 204);
    },
  );
}

const withBasePath = <Json extends { path: string }>(base: string, json: Json): Json => ({
  ...json,
  path: `${base}${json.path}`,
});
