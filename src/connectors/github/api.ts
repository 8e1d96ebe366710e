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

/** Requests in an hour: of a user, whatever their token; answers say how many are left. */
const core: Budget = { name: 'core', per: 'credential', limit: 5000, perSeconds: 3600 };
/** Besides, so many points in a minute; a request that reads is one. Answers do not say how many are left. */
const points: Budget = { name: 'points', per: 'credential', limit: 900, perSeconds: 60 };
/** Without a credential: all from one address together. */
const anonymous: Budget = { name: 'core', per: 'app', limit: 60, perSeconds: 3600 };

export function createApi(context: SyncContext, baseUrl: string): Http {
  const isAnonymous = context.credentials.id === undefined;
  const budgets: BudgetUse[] = isAnonymous ? [{ budget: anonymous }] : [{ budget: core }, { budget: points }];
  return createHttp(context, {
    baseUrl,
    authorize: optional(bearer()),
    headers: { accept: 'application/vnd.github+json', 'x-github-api-version': '2022-11-28' },
    budgets,
    refusal: notFound,
  });
}

function notFound({ status, request, body }: ReceivedAnswer): Error | undefined {
  if (status !== 404 || request.includes('/compare/')) return undefined;
  const said = /"message"\s*:\s*"([^"]{1,100})"/.exec(body)?.[1] ?? 'Not Found';
  return new PermanentError(
    `${request} was answered with 404, ${said}. It is not there, or the credential may not see it: check config.repositories and config.branch, and which repositories the token opens.`,
  );
}
