import { createRoute, z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import type { Config } from '../../config/settings.ts';
import { SynclineError } from '../../contract/errors.ts';
import { authorizationJson, type ConsentResult, type Syncline } from '../../index.ts';
import { omitUndefined } from '../../values/omit-undefined.ts';
import {
  browserProof,
  callbackPath,
  consentCookies,
  consentPath,
  formToken,
  isFormToken,
} from '../consent-cookies.ts';
import { consentPage } from '../consent-page.ts';
import type { App, HttpEnv } from '../context.ts';
import { schemaOf } from '../model-schema.ts';
import { ownUrl } from '../own-url.ts';
import { page } from '../page.ts';
import { id, strict, text } from '../parts.ts';
import { Problem, problemCodeOf } from '../problem.ts';
import { answer, body, bodyProblems, problems, signedIn } from '../responses.ts';
import { consentHeaders } from '../security-headers.ts';

const tags = ['Connections'];
const secretPattern = /^[\w-]{43}$/;
const link = z.string().regex(secretPattern, 'must be an unmodified authorization link');
const html = (description: string) => ({ description, content: { 'text/html': { schema: z.string() } } });

export function authorizeRoute(app: App, config: Config['server']): void {
  app.openapi(
    createRoute({
      method: 'post',
      path: '/v1/connections/authorize',
      operationId: 'authorizeConnection',
      tags,
      security: signedIn,
      summary: 'Create an authorization link',
      description:
        'Returns a link to a consent page, which redirects to the provider. Send it to the owner of the ' +
        'account. ' +
        'It is valid for ten minutes, for one consent and one browser.',
      request: {
        body: body(
          strict({
            connection_id: id(),
            return_to: text(2000)
              .openapi({
                description:
                  'Where to redirect afterwards: at this origin or one of `server.returnOrigins`. ' +
                  'Adds `connection_id`, `status` (`authorized` or `failed`) and `error` to the query.',
                example: 'https://app.example.com/settings',
              })
              .optional(),
          }),
        ),
      },
      responses: {
        200: answer('The link.', schemaOf(authorizationJson)),
        ...bodyProblems(404, 409),
      },
    }),
    async (c) => {
      const { connection_id: connectionId, return_to: returnTo } = c.req.valid('json');
      const own = ownUrl(c, config);
      const redirectUri = `${own}${callbackPath}`;
      const authorization = await c
        .get('view')
        .credentials.authorize({ connectionId, redirectUri, ...omitUndefined({ returnTo }) });
      const authorizationUrl = `${own}${consentPath}?link=${authorization.link}`;
      return c.json(authorizationJson({ ...authorization, authorizationUrl }), 200);
    },
  );
}

export function consentRoutes(app: App, { oauth, config }: Syncline): void {
  app.openapi(
    createRoute({
      method: 'get',
      path: consentPath,
      operationId: 'showConsent',
      tags,
      security: [],
      summary: 'Show the consent page',
      description:
        'Target of an authorization link: shows which tenant requests access at which provider. Read-only.',
      request: { query: z.object({ link }) },
      responses: { 200: html('The page.'), ...problems(409, 410) },
    }),
    (c) =>
      asPage(c, async () => {
        const { link } = c.req.valid('query');
        const request = await oauth.describe(link);
        const cookies = consentCookies(c, config.server);
        const page = consentPage(request, { link, token: formToken(cookies.visitor(), link) });
        return c.html(page, 200, consentHeaders);
      }),
  );

  app.openapi(
    createRoute({
      method: 'post',
      path: consentPath,
      operationId: 'startConsent',
      tags,
      security: [],
      summary: 'Submit the consent page',
      description:
        'Binds the authorization to the browser and redirects to the provider. Only for the consent page.',
      request: {
        body: {
          required: true,
          content: { 'application/x-www-form-urlencoded': { schema: z.object({ link, token: link }) } },
        },
      },
      responses: { 303: { description: 'Redirect to the provider.' }, ...bodyProblems(409, 410) },
    }),
    (c) =>
      asPage(c, async () => {
        const { link, token } = c.req.valid('form');
        requireSamePage(c, new URL(ownUrl(c, config.server)).origin);
        const cookies = consentCookies(c, config.server);
        const visitor = cookies.existingVisitor();
        if (visitor === undefined || !isFormToken(token, visitor, link)) throw notFromPage();
        const browser = browserProof(visitor, link);
        const { redirectTo, state } = await oauth.start({ link, browser });
        cookies.bind(state, browser);
        return c.redirect(redirectTo, 303);
      }),
  );
}

/** Verified by `state` and the browser's cookie. */
export function callbackRoute(app: App, { oauth, config }: Syncline): void {
  app.openapi(
    createRoute({
      method: 'get',
      path: callbackPath,
      operationId: 'finishAuthorization',
      tags,
      security: [],
      summary: 'OAuth callback',
      description:
        'Redirect target for providers. Accepts only the browser that started the authorization, by its ' +
        'cookie.',
      request: {
        // Providers add parameters such as `scope`.
        query: z.object({
          state: z.string().regex(secretPattern, 'must be the state of the authorization request'),
          code: text(4000).optional(),
          error: text(200).optional(),
        }),
      },
      responses: {
        200: html('A page with the outcome.'),
        303: { description: 'Redirect to `return_to`.' },
        ...problems(409, 410),
      },
    }),
    (c) => {
      // Link previews send HEAD: keep the state.
      if (c.req.method === 'HEAD') return c.body(null, 200);
      return asPage(c, async () => {
        const query = c.req.valid('query');
        const cookies = consentCookies(c, config.server);
        const arrival = await oauth.complete({ ...query, browser: cookies.bound(query.state) });
        cookies.release(query.state);
        if (arrival.returnTo !== undefined) return c.redirect(withOutcome(arrival.returnTo, arrival), 303);
        return c.html(arrivalPage(arrival), 200);
      });
    },
  );
}

async function asPage<T>(c: Context<HttpEnv>, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const isExpected =
      error instanceof Problem ||
      (error instanceof SynclineError && ['EXPIRED', 'FORBIDDEN', 'CONFLICT'].includes(error.code));
    if (!isExpected || !c.req.header('accept')?.includes('text/html')) throw error;
    const { status, details } =
      error instanceof Problem ? error : new Problem(problemCodeOf(error.code), error.message);
    const hint = (error instanceof SynclineError ? error.hint : details.hint) ?? '';
    return c.html(page('Not connected', [error.message, hint]), status as ContentfulStatusCode) as T;
  }
}

/** Pages cannot forge these headers. Refuses browsers without either. */
function requireSamePage(c: Context<HttpEnv>, ownOrigin: string): void {
  const site = c.req.header('sec-fetch-site');
  const origin = c.req.header('origin');
  if (site === undefined ? origin !== ownOrigin : site !== 'same-origin') throw notFromPage();
}

const notFromPage = () =>
  new Problem('FORBIDDEN', 'The request was not sent by the consent page in this browser.', {
    hint: 'Open the link again, allow cookies, and continue from there.',
  });

function withOutcome(returnTo: string, { connectionId, error }: ConsentResult): string {
  const url = new URL(returnTo);
  url.searchParams.set('connection_id', connectionId);
  url.searchParams.set('status', error === undefined ? 'authorized' : 'failed');
  if (error !== undefined) url.searchParams.set('error', error);
  return url.href;
}

function arrivalPage({ error }: ConsentResult): string {
  return error === undefined
    ? page('Connected', ['The account is connected. You can close this page.'])
    : page('Not connected', [
        error === 'access_denied'
          ? 'Access was denied at the provider.'
          : `The provider returned an error (${error}).`,
        'Nothing was changed. You can start again from where you came.',
      ]);
}
