import { z } from 'zod';
import { flag, list, object, oneOf, text, values } from './schema-parts.ts';

const authTypes = ['none', 'bearer', 'basic', 'header', 'query', 'oauth2'] as const;
const optional = flag.optional().describe('A connection without a credential asks without one.');
const prefix = text('text').optional().describe('What stands before the key.');
/** How the connection's credential is shown. */
export const auth = z.discriminatedUnion(
  'type',
  [
    object({ type: z.literal('none').describe('No credential is used.') }),
    object({ type: z.literal('bearer').describe('`Authorization: Bearer …`'), prefix, optional }),
    object({ type: z.literal('basic').describe('`Authorization: Basic …`, name and password.'), optional }),
    object({
      type: z.literal('header').describe('A key in a header of its own.'),
      header: text('the name of a header').describe('The name of the header.'),
      prefix,
      optional,
    }),
    object({
      type: z
        .literal('query')
        .describe('A key in the query. It is hidden in logs and never kept in a cursor.'),
      query: text('the name of a parameter').describe('The name of the parameter.'),
      optional,
    }),
    object({
      type: z.literal('oauth2').describe('A token that people consent to, and that is renewed.'),
      oauth2: object({
        authorizationUrl: text('an https address').describe('Where people are sent.'),
        tokenUrl: text('an https address').describe('Where tokens come from.'),
        clientId: text(`text, or \${env.NAME}`).describe('The app’s id.'),
        clientSecret: text(`\${env.NAME}`).optional().describe('Only as a variable of the environment.'),
        scopes: list(text('a scope'), 'a list of scopes').optional().describe('What is asked for.'),
        authorizationParameters: values(text('text'), 'an object of parameters')
          .optional()
          .describe('Further parameters of the authorization request.'),
        clientAuthentication: oneOf(['body', 'basic']).optional().describe('Where id and secret go.'),
      }).describe('The app.'),
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
