import { createRoute, z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import type { Config } from '../../config/settings.ts';
import type { Arrival } from '../../credentials/finish.ts';
import { SynclineError } from '../../errors.ts';
import { iso } from '../../json.ts';
import type { Syncline } from '../../syncline.ts';
import type { App, HttpEnv } from '../context.ts';
import { page } from '../page.ts';
import { given, id, strict, text, time } from '../parts.ts';
import { answer, body, bodyProblems, problems, signedIn } from '../responses.ts';

const tags = ['Connections'];
const callbackPath = '/v1/connections/callback';

/** Sends a person to a provider. */
export function authorizeRoute(app: App, config: Config['server']): void {
  app.openapi(
    createRoute({
      method: 'post',
      path: '/v1/connections/authorize',
      operationId: 'authorizeConnection',
      tags,
      security: signedIn,
      summary: 'Ask for consent',
      description:
        'Gives the address at the provider where a person consents. Send the person who owns the account there, and nobody else; it is good for ten minutes and for one consent.',
      request: {
        body: body(
          strict({
            connection_id: id(),
            return_to: text(2000)
              .openapi({
                description:
                  'Where the person goes on: at this origin, or at one of `server.returnOrigins`. `connection_id`, `status` (`authorized` or `failed`) and `error` are added to it.',
                example: 'https://app.example.com/settings',
              })
              .optional(),
          }),
        ),
      },
      responses: {
        200: answer(
          'Where to send the person.',
          z.object({ authorization_url: z.string(), expires_at: time() }).openapi('Authorization'),
        ),
        ...bodyProblems(404, 409),
      },
    }),
    async (c) => {
      const { connection_id: connectionId, return_to: returnTo } = c.req.valid('json');
      const redirectUri = `${ownUrl(c, config)}${callbackPath}`;
      const made = await c
        .get('view')
        .credentials.authorize({ connectionId, redirectUri, ...given({ returnTo }) });
      return c.json({ authorization_url: made.authorizationUrl, expires_at: iso(made.expiresAt) }, 200);
    },
  );
}

/** Takes people back. They are known by the state they carry, which is good once. */
export function callbackRoute(app: App, { authorizations }: Syncline): void {
  app.openapi(
    createRoute({
      method: 'get',
      path: callbackPath,
      operationId: 'finishAuthorization',
      tags,
      security: [],
      summary: 'Come back from a provider',
      description: 'Where providers send people who were asked for their consent. Nothing else calls this.',
      request: {
        // Providers add parameters of their own, such as `scope` and `iss`.
        query: z.object({
          state: z.string().regex(/^[\w-]{43}$/, 'must be what the person was sent away with'),
          code: text(4000).optional(),
          error: text(200).optional(),
        }),
      },
      responses: {
        200: {
          description: 'A page that says how it went.',
          content: { 'text/html': { schema: z.string() } },
        },
        303: { description: 'To where the person was to go on.' },
        ...problems(409, 410),
      },
    }),
    async (c) => {
      // A preview of the link must not use it up.
      if (c.req.method === 'HEAD') return c.body(null, 200);
      const wantsPage = c.req.header('accept')?.includes('text/html') ?? false;
      try {
        const arrival = await authorizations.finish(c.req.valid('query'));
        if (arrival.returnTo !== undefined) return c.redirect(withOutcome(arrival.returnTo, arrival), 303);
        return c.html(arrivalPage(arrival), 200);
      } catch (error) {
        if (!wantsPage || !(error instanceof SynclineError) || error.code !== 'EXPIRED') throw error;
        return c.html(page('Not connected', [error.message, error.hint ?? '']), 410) as never;
      }
    },
  );
}

/** Where this is reached: as configured, else as it was asked for, which was checked before. */
function ownUrl(c: Context<HttpEnv>, { publicUrl }: Config['server']): string {
  if (publicUrl !== undefined) return publicUrl.replace(/\/+$/, '');
  return `${new URL(c.req.url).origin}${c.get('base')}`;
}

function withOutcome(returnTo: string, { connectionId, error }: Arrival): string {
  const url = new URL(returnTo);
  url.searchParams.set('connection_id', connectionId);
  url.searchParams.set('status', error === undefined ? 'authorized' : 'failed');
  if (error !== undefined) url.searchParams.set('error', error);
  return url.href;
}

function arrivalPage({ error }: Arrival): string {
  return error === undefined
    ? page('Connected', ['The account is connected. You can close this page.'])
    : page('Not connected', [
        error === 'access_denied'
          ? 'The provider says that consent was not given.'
          : `The provider did not give access (${error}).`,
        'Nothing was changed. You can begin again where you came from.',
      ]);
}
