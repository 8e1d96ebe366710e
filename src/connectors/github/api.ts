import {
  type Budget,
  type BudgetUse,
  bearer,
  createHttp,
  type Http,
  optional,
  PermanentError,
  type ReceivedAnswer,
  type SyncContext,
} from '../../connector-kit/index.ts';

/** Per user, across tokens; headers report the rest. */
const core: Budget = { name: 'core', per: 'credential', limit: 5000, perSeconds: 3600 };
/** Secondary limit: a read costs one point; not in headers. */
const points: Budget = { name: 'points', per: 'credential', limit: 900, perSeconds: 60 };
/** Limited per IP address. */
const anonymous: Budget = { name: 'core', per: 'app', limit: 60, perSeconds: 3600 };

export function createApi(context: SyncContext, baseUrl: string): Http {
  const isAnonymous = context.credentials.id === undefined;
  const budgets: BudgetUse[] = isAnonymous ? [{ budget: anonymous }] : [{ budget: core }, { budget: points }];
  return createHttp(context, {
    baseUrl,
    authorize: optional(bearer()),
    headers: { accept: 'application/vnd.github+json', 'x-github-api-version': '2022-11-28' },
    budgets,
    refusal: notFoundError,
  });
}

function notFoundError({ status, request, body }: ReceivedAnswer): Error | undefined {
  if (status !== 404 || request.includes('/compare/')) return undefined;
  const message = /"message"\s*:\s*"([^"]{1,100})"/.exec(body)?.[1] ?? 'Not Found';
  return new PermanentError(
    `${request} returned 404, ${message}. It does not exist, or the token has no access: ` +
      'check config.repositories and config.branch.',
  );
}
