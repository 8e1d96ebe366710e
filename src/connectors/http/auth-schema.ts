import { z } from 'zod';
import { flag, list, object, oneOf, text, values } from './schema-parts.ts';

const authTypes = ['none', 'bearer', 'basic', 'header', 'query', 'oauth2'] as const;
const optional = flag.optional().describe('Allow connections without a credential.');
const prefix = text('text').optional().describe('Text before the key.');
export const auth = z.discriminatedUnion(
  'type',
  [
    object({ type: z.literal('none').describe('No authentication.') }),
    object({ type: z.literal('bearer').describe('`Authorization: Bearer …`'), prefix, optional }),
    object({
      type: z.literal('basic').describe('`Authorization: Basic …`, with user and password.'),
      optional,
    }),
    object({
      type: z.literal('header').describe('A key in a custom header.'),
      header: text('the name of a header').describe('Header name.'),
      prefix,
      optional,
    }),
    object({
      type: z.literal('query').describe('A key in the query. Redacted in logs and never stored in a cursor.'),
      query: text('the name of a parameter').describe('Parameter name.'),
      optional,
    }),
    object({
      type: z.literal('oauth2').describe('OAuth 2 with user consent and token refresh.'),
      oauth2: object({
        authorizationUrl: text('an https URL').describe('Authorization endpoint.'),
        tokenUrl: text('an https URL').describe('Token endpoint.'),
        clientId: text(`text, or \${env.NAME}`).describe('Client id.'),
        clientSecret: text(`\${env.NAME}`)
          .optional()
          .describe('Client secret, only as an environment variable.'),
        scopes: list(text('a scope'), 'a list of scopes').optional().describe('Requested scopes.'),
        authorizationParameters: values(text('text'), 'an object of parameters')
          .optional()
          .describe('Additional parameters of the authorization request.'),
        clientAuthentication: oneOf(['body', 'basic'])
          .optional()
          .describe('Where client id and secret are sent.'),
      }).describe('OAuth client.'),
      prefix,
      optional,
    }),
  ],
  {
    error: (issue) =>
      (issue.code as string) === 'invalid_type'
        ? 'an object such as { type: bearer }'
        : `one of ${authTypes.join(', ')}`,
  },
);
