import { createRoute, z } from '@hono/zod-openapi';
import { webhookJson } from '../../api/index.ts';
import { SynclineError } from '../../contract/errors.ts';
import type { Syncline } from '../../syncline.ts';
import { bytesOf } from '../body.ts';
import { createRoom } from '../body-budget.ts';
import type { App, Limits } from '../context.ts';
import { anyJson, given, id, strict, time } from '../parts.ts';
import { Problem } from '../problem.ts';
import { createSlots } from '../request-limit.ts';
import { answer, body, bodyProblems, nothing, problems, signedIn } from '../responses.ts';

const tags = ['Webhooks'];

/** What providers call. They have no key: who they are is in the signature. */
export function deliveryRoute(app: App, syncline: Syncline, limits: Limits): void {
  const room = createRoom(limits.deliveriesBytes);
  const slots = createSlots({
    total: limits.deliveries,
    perHolder: limits.deliveriesPerAddress,
    of: 'deliveries',
  });
  const bodyLimits = { maxBytes: limits.deliveryBytes, maxMs: limits.bodyMs };

  app.openapi(
    createRoute({
      method: 'post',
      path: '/v1/webhooks/{provider}/{connection}',
      operationId: 'deliver',
      tags,
      security: [],
      summary: 'Deliver what a provider sends',
      description:
        'For providers: the body is whatever they send, up to 25 MB, signed with the secret of the connection or of the app. It has the connection synced at once. Whatever is wrong with the signature, the provider or the connection, the answer is the same 401. Where the secret cannot be decrypted it is 503.',
      // Text of any kind: what names nothing is refused as a wrong signature is.
      request: { params: z.object({ provider: z.string(), connection: z.string() }) },
      responses: {
        200: {
          description: 'What the provider expects to hear.',
          content: {
            'application/json': { schema: anyJson('As the connector replies.') },
            'text/plain': { schema: z.string() },
          },
        },
        202: answer('It is taken.', z.object({ accepted: z.literal(true) }).openapi('Accepted')),
        ...problems(413),
      },
    }),
    async (c) => {
      const held = room.open();
      const release = slots.take(c.get('address'));
      try {
        const bytes = await bytesOf(c, bodyLimits, held.take);
        const { provider, connection } = c.req.valid('param');
        const receipt = await syncline.receive(provider, connection, {
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
        held.giveBack();
        release();
      }
    },
  );
}

/** Long enough for a configuration to be corrected before a provider gives up, which takes hours. */
const notVerifiable = () =>
  new Problem('UNAVAILABLE', 'The delivery cannot be verified right now.', {
    hint: 'Send it again later. The log of the service says more.',
    headers: { 'retry-after': '60' },
  });

/** One for everything that may be wrong, so that the answer does not reveal what exists. */
function notVerified(): Problem {
  return new Problem('UNAUTHENTICATED', 'The delivery is not signed with a secret that is known for it.', {
    hint: 'Compare the address and the secret with what the provider has.',
    headers: { 'www-authenticate': 'Signature realm="syncline"' },
  });
}

const webhookSchema = z
  .object({
    connection_id: id(),
    path: z.string().openapi({ description: 'To be put behind the address of the service.' }),
    exists: z.boolean().openapi({ description: 'Whether the connection has a secret of its own.' }),
    created_at: time().nullable(),
    last_received_at: time().nullable().openapi({ description: 'To within a minute.' }),
  })
  .openapi('Webhook');

const params = z.object({ id: id() });
const security = signedIn;

/** The secrets with which providers sign. */
export function webhookRoutes(app: App): void {
  app.openapi(
    createRoute({
      method: 'get',
      path: '/v1/connections/{id}/webhook',
      operationId: 'getWebhook',
      tags,
      security,
      summary: 'Has a connection a webhook?',
      description: 'Where its provider is to send, and when something last came. Never the secret.',
      request: { params },
      responses: { 200: answer('The webhook.', webhookSchema), ...problems(404) },
    }),
    async (c) => {
      const webhook = await c.get('view').webhooks.get(c.req.valid('param').id);
      return c.json(located(c.get('base'), webhookJson(webhook)), 200);
    },
  );

  app.openapi(
    createRoute({
      method: 'put',
      path: '/v1/connections/{id}/webhook',
      operationId: 'putWebhook',
      tags,
      security,
      summary: 'Give a connection a webhook',
      description:
        'With a new secret, a random one unless given; one that it had stops working. This is the only answer that ever holds the secret.',
      request: {
        params,
        body: body(
          strict({
            secret: z
              .string()
              .min(16, 'must be text of 16 to 500 characters')
              .max(500, 'must be text of 16 to 500 characters')
              .openapi({
                description: 'What the provider signs with, where that says so.',
                example: 'a secret that the provider made',
              })
              .optional(),
          }),
          { required: false },
        ),
      },
      responses: {
        200: answer(
          'The webhook, with its secret.',
          webhookSchema.extend({ secret: z.string() }).openapi('NewWebhook'),
        ),
        ...bodyProblems(404, 409),
      },
    }),
    async (c) => {
      const made = await c.get('view').webhooks.create(c.req.valid('param').id, given(c.req.valid('json')));
      return c.json({ ...located(c.get('base'), webhookJson(made)), secret: made.secret }, 200);
    },
  );

  app.openapi(
    createRoute({
      method: 'delete',
      path: '/v1/connections/{id}/webhook',
      operationId: 'deleteWebhook',
      tags,
      security,
      summary: 'Take a connection’s webhook away',
      description: 'What is signed with its secret is refused from now on.',
      request: { params },
      responses: { 204: nothing('It has none any more.'), ...problems(404) },
    }),
    async (c) => {
      await c.get('view').webhooks.remove(c.req.valid('param').id);
      return c.body(null, 204);
    },
  );
}

/** Under the path that the service itself is found under. */
const located = <Json extends { path: string }>(base: string, json: Json): Json => ({
  ...json,
  path: `${base}${json.path}`,
});
