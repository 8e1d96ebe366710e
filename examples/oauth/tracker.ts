import { bearer, createHttp, defineConnector } from 'syncline/connector';
import { z } from 'zod';
import { client } from './provider.ts';

const issue = z.object({ id: z.number(), title: z.string(), updated_at: z.string() });

export const tracker = (baseUrl: string) =>
  defineConnector({
    provider: 'tracker',
    name: 'Tracker',
    /** Your app as registered with the provider. Read the client secret from the environment. */
    oauth2: {
      authorizationUrl: `${baseUrl}/authorize`,
      tokenUrl: `${baseUrl}/token`,
      clientId: client.id,
      clientSecret: client.secret,
      scopes: ['issues:read'],
    },
    sync: async (context) => {
      // `bearer` sends the access token. After a 401 it refreshes the token once and repeats the request.
      const http = createHttp(context, { baseUrl, authorize: bearer() });
      const { data } = await http.get('/issues', { schema: z.array(issue) });
      return {
        signals: data.map((one) => ({
          kind: 'issue.updated',
          occurredAt: one.updated_at,
          payload: one,
          dedupeKey: `${one.id}@${one.updated_at}`,
        })),
      };
    },
  });
