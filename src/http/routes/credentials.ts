import { createRoute, z } from '@hono/zod-openapi';
import type { Secret } from '../../contract/credential.ts';
import { credentialJson } from '../../index.ts';
import { omitUndefined } from '../../values/omit-undefined.ts';
import type { App } from '../context.ts';
import { listOf, schemaOf } from '../model-schema.ts';
import { id, listJson, pageQuery, provider, reason, strict, text } from '../parts.ts';
import { answer, body, bodyProblems, nothing, problems, signedIn } from '../responses.ts';

const tags = ['Credentials'];
const security = signedIn;
const params = z.object({ id: id() });

const secretText = () => text(32_768);

/** Errors never echo the value. */
const secretSchema = () =>
  z
    .discriminatedUnion(
      'type',
      [
        strict({ type: z.literal('api_key'), key: secretText() }),
        strict({ type: z.literal('basic'), username: secretText(), password: z.string().max(32_768) }),
        strict({
          type: z.literal('oauth2'),
          access_token: secretText(),
          refresh_token: secretText().optional(),
          expires_at: z.iso
            .datetime({ offset: true, error: 'must be a time such as 2025-01-01T12:00:00Z' })
            .openapi({ format: 'date-time' })
            .optional(),
          scope: secretText().optional(),
        }),
        strict({ type: z.literal('custom'), fields: z.record(z.string(), z.unknown()) }),
      ],
      { error: 'must have a type: api_key, basic, oauth2 or custom' },
    )
    .openapi({ example: { type: 'api_key', key: 'your-provider-api-key' } });

type SecretJson = z.output<ReturnType<typeof secretSchema>>;

function secretOf(secret: SecretJson): Secret {
  if (secret.type !== 'oauth2') return secret;
  const {
    type,
    access_token: accessToken,
    refresh_token: refreshToken,
    expires_at: expiresAt,
    scope,
  } = secret;
  return { type, accessToken, refreshToken, expiresAt, scope };
}

export function credentialRoutes(app: App): void {
  app.openapi(
    createRoute({
      method: 'get',
      path: '/v1/credentials',
      operationId: 'listCredentials',
      tags,
      security,
      summary: 'List credentials',
      description: 'In creation order, without secrets.',
      request: {
        query: strict({ tenant_id: id().optional(), provider: provider().optional(), ...pageQuery }),
      },
      responses: {
        200: answer('A page of credentials.', listOf(credentialJson)),
        ...problems(),
      },
    }),
    async (c) => {
      const { tenant_id: tenantId, ...rest } = c.req.valid('query');
      const page = await c.get('view').credentials.list(omitUndefined({ tenantId, ...rest }));
      return c.json(listJson(page, credentialJson), 200);
    },
  );

  app.openapi(
    createRoute({
      method: 'post',
      path: '/v1/credentials',
      operationId: 'createCredential',
      tags,
      security,
      summary: 'Store a credential',
      description: 'The secret is stored encrypted; no response contains it.',
      request: {
        body: body(
          strict({
            tenant_id: id(),
            provider: provider(),
            name: text(200).openapi({ description: 'Display name.', example: 'read only' }).optional(),
            secret: secretSchema(),
            reason: reason().optional(),
          }),
        ),
      },
      responses: { 201: answer('The new credential.', schemaOf(credentialJson)), ...bodyProblems(404, 409) },
    }),
    async (c) => {
      const { tenant_id: tenantId, provider, name, secret, reason } = c.req.valid('json');
      const input = { tenantId, provider, secret: secretOf(secret), ...omitUndefined({ name }) };
      const created = await c.get('view').credentials.create(input, omitUndefined({ reason }));
      return c.json(credentialJson(created), 201);
    },
  );

  app.openapi(
    createRoute({
      method: 'get',
      path: '/v1/credentials/{id}',
      operationId: 'getCredential',
      tags,
      security,
      summary: 'Show a credential',
      description: 'Without its secret.',
      request: { params },
      responses: { 200: answer('The credential.', schemaOf(credentialJson)), ...problems(404) },
    }),
    async (c) => c.json(credentialJson(await c.get('view').credentials.get(c.req.valid('param').id)), 200),
  );

  app.openapi(
    createRoute({
      method: 'put',
      path: '/v1/credentials/{id}',
      operationId: 'replaceCredential',
      tags,
      security,
      summary: 'Replace the secret of a credential',
      description: 'Activates its connections in `needs_auth`.',
      request: { params, body: body(strict({ secret: secretSchema(), reason: reason().optional() })) },
      responses: {
        200: answer('The updated credential.', schemaOf(credentialJson)),
        ...bodyProblems(404, 409),
      },
    }),
    async (c) => {
      const { secret, reason } = c.req.valid('json');
      const { credentials } = c.get('view');
      const changed = await credentials.replace(
        c.req.valid('param').id,
        secretOf(secret),
        omitUndefined({ reason }),
      );
      return c.json(credentialJson(changed), 200);
    },
  );

  app.openapi(
    createRoute({
      method: 'delete',
      path: '/v1/credentials/{id}',
      operationId: 'deleteCredential',
      tags,
      security,
      summary: 'Delete a credential',
      description: 'Fails with 409 while a connection uses it.',
      request: { params, body: body(strict({ reason: reason().optional() }), { required: false }) },
      responses: { 204: nothing('Deleted.'), ...bodyProblems(404, 409) },
    }),
    async (c) => {
      await c.get('view').credentials.delete(c.req.valid('param').id, omitUndefined(c.req.valid('json')));
      return c.body(null, 204);
    },
  );
}
