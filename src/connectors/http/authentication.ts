import {
  type Authorize,
  apiKeyHeader,
  apiKeyQuery,
  bearer,
  type OAuth2,
  optional,
  PermanentError,
} from '../../connector-kit/index.ts';
import type { AuthDescription } from './description.ts';
import { withEnvironment } from './templates.ts';

export function authorizeOf(auth: AuthDescription): Authorize | undefined {
  if (auth.type === 'none') return undefined;
  return auth.optional ? optional(schemeOf(auth)) : schemeOf(auth);
}

function schemeOf(auth: Exclude<AuthDescription, { type: 'none' }>): Authorize {
  switch (auth.type) {
    case 'header':
      return apiKeyHeader(auth.header.toLowerCase(), auth.prefix);
    case 'query':
      return apiKeyQuery(auth.query);
    case 'basic':
      return basic;
    default:
      return bearer(auth.prefix?.trim());
  }
}

/** Rejects keys, which bearer() would send as a token. */
const basic: Authorize = (credential) => {
  if (credential.type === 'basic') return bearer()(credential);
  throw new PermanentError(
    `The connection's credential has type ${credential.type}; this provider needs user and password (basic).`,
  );
};

export function oauth2Of(auth: AuthDescription, env: NodeJS.ProcessEnv): OAuth2 | undefined {
  if (auth.type !== 'oauth2') return undefined;
  const { clientId, clientSecret, ...app } = auth.oauth2;
  return {
    ...app,
    clientId: withEnvironment(clientId, env),
    ...(auth.optional !== undefined && { optional: auth.optional }),
    ...(clientSecret !== undefined && { clientSecret: withEnvironment(clientSecret, env) }),
  };
}
