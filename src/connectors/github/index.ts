import type { z } from 'zod';
import { type Connector, defineConnector, syncStreams } from '../../connector-kit/index.ts';
import { createApi } from './api.ts';
import { readCommits } from './commits.ts';
import { type Config, configSchema, type Resource } from './config.ts';
import { cursorSchema, fitCursor, type StreamCursor } from './cursor.ts';
import { readIssueComments, readIssues, readReviewComments } from './lists.ts';
import { readPullRequests } from './pull-requests.ts';
import { readReleases } from './releases.ts';
import { type GithubPayloads, type GithubSignal, signalSchemas } from './signal-schemas.ts';
import { githubWebhook } from './webhook.ts';

export interface GithubOptions<Provider extends string = string> {
  /** For GitHub Enterprise Server: `https://github.example.com/api/v3`. */
  baseUrl?: string | undefined;
  /** Instead of tokens. */
  oauth2?:
    | {
        clientId: string;
        clientSecret: string;
        scopes?: readonly string[] | undefined;
        /** Allow connections without a credential (default). */
        optional?: boolean | undefined;
      }
    | undefined;
  /** Shared by all connections. */
  webhookSecret?: string | undefined;
  /** Default: `github`. */
  provider?: Provider | undefined;
}

const readers = {
  issues: readIssues,
  pull_requests: readPullRequests,
  issue_comments: readIssueComments,
  review_comments: readReviewComments,
  commits: readCommits,
  releases: readReleases,
} satisfies Record<Resource, unknown>;

/** Issues, pull requests, comments, commits and releases of repositories. */
export function github<const Provider extends string = 'github'>({
  baseUrl = 'https://api.github.com',
  oauth2,
  webhookSecret,
  provider = 'github' as Provider,
}: GithubOptions<Provider> = {}): Connector<Provider, z.input<typeof configSchema>, GithubPayloads> {
  return defineConnector({
    provider,
    name: 'GitHub',
    configSchema,
    cursorSchema,
    signalSchemas,
    webhook: githubWebhook(webhookSecret),
    // Public repositories need no token.
    ...(oauth2 && { oauth2: { ...addressesOf(baseUrl), optional: true, ...oauth2 } }),
    sync: async (context) => {
      const { config } = context.connection;
      const http = createApi(context, baseUrl);
      const streams = streamsOf(config);
      const result = await syncStreams<StreamCursor, GithubSignal>(
        context,
        [...streams.keys()],
        (name, cursor = {}) => {
          const { resource = 'issues', repository = '' } = streams.get(name) ?? {};
          return readers[resource](http, repository, config, cursor);
        },
      );
      return { ...result, nextCursor: result.nextCursor && fitCursor(result.nextCursor) };
    },
  });
}

function streamsOf({ repositories, resources }: Config) {
  const streams = new Map<string, { repository: string; resource: Resource }>();
  for (const repository of repositories)
    for (const resource of resources) streams.set(`${repository} ${resource}`, { repository, resource });
  return streams;
}

function addressesOf(baseUrl: string) {
  const api = new URL(baseUrl);
  const site = api.hostname === 'api.github.com' ? 'https://github.com' : api.origin;
  return {
    authorizationUrl: `${site}/login/oauth/authorize`,
    tokenUrl: `${site}/login/oauth/access_token`,
    scopes: ['repo'],
  };
}
