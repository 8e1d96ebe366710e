import { createRoute, z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import { iso } from '../../api/index.ts';
import type { Config } from '../../config/settings.ts';
import { SynclineError } from '../../contract/errors.ts';
import type { Arrival } from '../../credentials/index.ts';
import type { Syncline } from '../../syncline.ts';
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
import { ownUrl } from '../own-url.ts';
import { page } from '../page.ts';
import { given, id, strict, text, time } from '../parts.ts';
import { Problem, type ProblemCode } from '../problem.ts';
import { answer, body, bodyProblems, problems, signedIn } from '../responses.ts';
import { consentHeaders } from '../security-headers.ts';

const tags = ['Connections'];
const secretPattern = /^[\w-]{43}$/;
const link = z.string().regex(secretPattern, 'must be the link as it was issued');
const html = (description: string) => ({ description, content: { 'text/html': { schema: z.string() } } });

/** Creates the link under which a person gives consent. */
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
        'Returns a link to a page of this service that names tenant, provider and connection, and leads to the provider. Send the owner of the account there. It is valid for ten minutes, for one consent and one browser.',
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
      const own = ownUrl(c, config);
      const redirectUri = `${own}${callbackPath}`;
      const { link, expiresAt } = await c
        .get('view')
        .credentials.authorize({ connectionId, redirectUri, ...given({ returnTo }) });
      const authorizationUrl = `${own}${consentPath}?link=${link}`;
      return c.json({ authorization_url: authorizationUrl, expires_at: iso(expiresAt) }, 200);
    },
  );
}

/** The page that asks the person, and the form that sends their browser on. */
export function consentRoutes(app: App, { authorizations, config }: Syncline): void {
  app.openapi(
    createRoute({
      method: 'get',
      path: consentPath,
      operationId: 'showConsent',
      tags,
      security: [],
      summary: 'Show who asks for access',
      description:
        'The page that an authorization link leads to: which tenant asks for access to an account at which provider. It changes nothing.',
      request: { query: z.object({ link }) },
      responses: { 200: html('The page.'), ...problems(409, 410) },
    }),
    (c) =>
      asPage(c, async () => {
        const { link } = c.req.valid('query');
        const request = await authorizations.describe(link);
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
      summary: 'Go on to the provider',
      description:
        'What the form of that page sends. Only a request from the page itself is accepted; it binds the authorization to the browser and redirects to the provider.',
      request: {
        body: {
          required: true,
          content: { 'application/x-www-form-urlencoded': { schema: z.object({ link, token: link }) } },
        },
      },
      responses: { 303: { description: 'To the provider.' }, ...bodyProblems(409, 410) },
    }),
    (c) =>
      asPage(c, async () => {
        const { link, token } = c.req.valid('form');
        requireSamePage(c, new URL(ownUrl(c, config.server)).origin);
        const cookies = consentCookies(c, config.server);
        const visitor = cookies.known();
        if (visitor === undefined || !isFormToken(token, visitor, link)) throw notFromPage();
        const browser = browserProof(visitor, link);
        const { redirectTo, state } = await authorizations.start({ link, browser });
        cookies.bind(state, browser);
        return c.redirect(redirectTo, 303);
      }),
  );
}

/** Takes browsers back. They are known by the state that the provider brings, and by the cookie that only they have. */
export function callbackRoute(app: App, { authorizations, config }: Syncline): void {
  app.openapi(
    createRoute({
      method: 'get',
      path: callbackPath,
      operationId: 'finishAuthorization',
      tags,
      security: [],
      summary: 'Come back from a provider',
      description:
        'Where providers send browsers back to. Only the browser that was sent there is accepted, by its cookie. Nothing else calls this.',
      request: {
        // Providers add parameters of their own, such as `scope` and `iss`.
        query: z.object({
          state: z.string().regex(secretPattern, 'must be what the person was sent away with'),
          code: text(4000).optional(),
          error: text(200).optional(),
        }),
      },
      responses: {
        200: html('A page that says how it went.'),
        303: { description: 'To where the person was to go on.' },
        ...problems(409, 410),
      },
    }),
    (c) => {
      // A preview of the link must not use it up.
      if (c.req.method === 'HEAD') return c.body(null, 200);
      return asPage(c, async () => {
        const came = c.req.valid('query');
        const cookies = consentCookies(c, config.server);
        const arrival = await authorizations.finish({ ...came, browser: cookies.bound(came.state) });
        cookies.release(came.state);
        if (arrival.returnTo !== undefined) return c.redirect(withOutcome(arrival.returnTo, arrival), 303);
        return c.html(arrivalPage(arrival), 200);
      });
    },
  );
}

/** A person who was refused sees a page; a program gets a problem document. */
async function asPage<T>(c: Context<HttpEnv>, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const isExpected =
      error instanceof Problem ||
      (error instanceof SynclineError && ['EXPIRED', 'FORBIDDEN', 'CONFLICT'].includes(error.code));
    if (!isExpected || !c.req.header('accept')?.includes('text/html')) throw error;
    const { status, details } =
      error instanceof Problem ? error : new Problem(error.code as ProblemCode, error.message);
    const hint = (error instanceof SynclineError ? error.hint : details.hint) ?? '';
    return c.html(page('Not connected', [error.message, hint]), status as ContentfulStatusCode) as T;
  }
}

/** Which page sent it is said by the browser, and cannot be chosen by a page. Browsers that do not say it are refused. */
function requireSamePage(c: Context<HttpEnv>, ownOrigin: string): void {
  const site = c.req.header('sec-fetch-site');
  const origin = c.req.header('origin');
  if (site === undefined ? origin !== ownOrigin : site !== 'same-origin') throw notFromPage();
}

const notFromPage = () =>
  new Problem('FORBIDDEN', 'This request does not come from the consent page in this browser.', {
    hint: 'Open the link again, allow cookies, and continue from there.',
  });

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
