import { describe, expectTypeOf, it } from 'vitest';
import { z } from 'zod';
import { github, googleCalendar, http, rss, singer, slack } from '../../src/connectors/index.ts';
import {
  type Connector,
  createSyncline,
  defineConfig,
  defineConnector,
  type FeedSignal,
  type Syncline,
  type SynclineApi,
} from '../../src/index.ts';

/** `npm run typecheck` checks this file; the calls are never made. */

const tracker = defineConnector({
  provider: 'tracker',
  name: 'Tracker',
  configSchema: z.object({ project: z.string(), pageSize: z.number().default(100) }),
  cursorSchema: z.object({ after: z.number() }),
  signalSchemas: {
    'issue.opened': z.object({ title: z.string(), labels: z.array(z.string()).default([]) }),
    'issue.closed': z.object({ reason: z.string().nullable(), at: z.date() }),
  },
  sync: async ({ connection, cursor }) => {
    expectTypeOf(connection.config).toEqualTypeOf<{ project: string; pageSize: number }>();
    expectTypeOf(cursor).toEqualTypeOf<{ after: number } | undefined>();
    return {
      signals: [1, 2].map((id) => ({
        kind: 'issue.opened' as const,
        occurredAt: new Date(id),
        payload: { title: String(id) },
      })),
      nextCursor: { after: 2 },
    };
  },
});

const plain = defineConnector({
  provider: 'plain',
  name: 'Plain',
  sync: async () => ({ signals: [{ kind: `any.${'kind'}`, occurredAt: '', payload: 1 }] }),
});

const optional = defineConnector({
  provider: 'optional',
  name: 'Optional',
  configSchema: z.object({ depth: z.number().default(3) }),
  sync: async () => ({ signals: [] }),
});

const tenantId = '';
/** Compiled, not called. */
const compiles = (name: string, _use: () => unknown) => it(name, () => {});
const make = () => createSyncline({ connectors: [tracker, plain, optional] });

describe('types: connectors', () => {
  it('types: defineConnector keeps provider, config, payloads and cursor', () => {
    type Payloads = {
      'issue.opened': { title: string; labels?: string[] | undefined };
      'issue.closed': { reason: string | null; at: Date };
    };
    type Config = { project: string; pageSize?: number | undefined };
    expectTypeOf(tracker).toEqualTypeOf<Connector<'tracker', Config, Payloads, { after: number }>>();
    expectTypeOf(plain.provider).toEqualTypeOf<'plain'>();
    expectTypeOf(tracker).toExtend<Connector>();
    expectTypeOf(plain).toExtend<Connector>();
  });

  compiles('types: signals must match the schema of their kind', () => {
    const schemas = { 'issue.opened': z.object({ title: z.string() }) };
    const occurredAt = new Date(0);
    return [
      defineConnector({
        provider: 'p',
        name: 'P',
        signalSchemas: schemas,
        // @ts-expect-error: the payload has no title
        sync: async () => ({ signals: [{ kind: 'issue.opened', occurredAt, payload: {} }] }),
      }),
      defineConnector({
        provider: 'p',
        name: 'P',
        signalSchemas: schemas,
        // @ts-expect-error: the kind is not declared
        sync: async () => ({ signals: [{ kind: 'issue.opend', occurredAt, payload: { title: '' } }] }),
      }),
      defineConnector({
        provider: 'p',
        name: 'P',
        signalSchemas: schemas,
        webhook: {
          verify: () => true,
          // @ts-expect-error: the kind is not declared
          react: () => ({ signals: [{ kind: 'issue.opend', occurredAt, payload: { title: '' } }] }),
        },
        sync: async () => ({ signals: [] }),
      }),
    ];
  });

  compiles('types: with schemas in a constant, a kind in the return statement needs no `as const`', () => {
    const signalSchemas = { 'issue.opened': z.object({ title: z.string() }), 'issue.closed': z.object({}) };
    return defineConnector({
      provider: 'p',
      name: 'P',
      cursorSchema: z.number(),
      signalSchemas,
      sync: async ({ cursor = 0 }) => {
        const titles = [String(cursor)];
        return {
          signals: titles.map((title) => ({ kind: 'issue.opened', occurredAt: '', payload: { title } })),
          nextCursor: cursor + 1,
        };
      },
    });
  });

  it('types: connectors of syncline/connectors have their slug and config', () => {
    expectTypeOf(github().provider).toEqualTypeOf<'github'>();
    expectTypeOf(github({ provider: 'github-enterprise' }).provider).toEqualTypeOf<'github-enterprise'>();
    expectTypeOf(slack().provider).toEqualTypeOf<'slack'>();
    const shop = () =>
      http({ provider: 'shop', baseUrl: 'https://shop.example', auth: { type: 'none' }, streams: {} });
    expectTypeOf(shop).returns.toEqualTypeOf<Connector<'shop'>>();
    const tap = singer({
      provider: 'tap',
      name: 'Tap',
      command: ['tap'],
      configSchema: z.object({ account: z.string() }),
    });
    expectTypeOf(tap).toEqualTypeOf<Connector<'tap', { account: string }>>();
  });
});

describe('types: connections.create', () => {
  compiles('types: provider is one of the connectors, config matches its schema', () => {
    const { connections } = make();
    return [
      connections.create({ tenantId, provider: 'tracker', config: { project: 'apollo' } }),
      connections.create({ tenantId, provider: 'plain' }),
      connections.create({ tenantId, provider: 'plain', config: { any: 'thing' } }),
      connections.create({ tenantId, provider: 'optional' }),
      connections.create({ tenantId, provider: 'optional', config: { depth: 2 } }),
      // @ts-expect-error: not a connector of this instance
      connections.create({ tenantId, provider: 'traker', config: { project: 'apollo' } }),
      // @ts-expect-error: config is required
      connections.create({ tenantId, provider: 'tracker' }),
      // @ts-expect-error: wrong type
      connections.create({ tenantId, provider: 'tracker', config: { project: 7 } }),
      // @ts-expect-error: unknown field
      connections.create({ tenantId, provider: 'tracker', config: { project: 'a', projct: 'b' } }),
      // @ts-expect-error: config of another connector
      connections.create({ tenantId, provider: 'optional', config: { project: 'apollo' } }),
      // @ts-expect-error: repositories is missing
      createSyncline({ connectors: [github()] }).connections.create({ tenantId, provider: 'github' }),
      createSyncline({ connectors: [github(), slack()] }).connections.create({
        tenantId,
        provider: 'github',
        config: { repositories: ['acme/app'] },
      }),
      make().as({ actor: 'me' }).connections.create({ tenantId, provider: 'plain' }),
      // @ts-expect-error: also for a caller
      make().as({ actor: 'me' }).connections.create({ tenantId, provider: 'none' }),
    ];
  });

  compiles('types: any provider where the connectors are not known', () => {
    const listed: Connector[] = [tracker];
    return [
      createSyncline().connections.create({ tenantId, provider: 'any', config: { a: 1 } }),
      createSyncline({ connectors: [] }).connections.create({ tenantId, provider: 'any' }),
      createSyncline({ connectors: listed }).connections.create({ tenantId, provider: 'any' }),
      (make() as Syncline).connections.create({ tenantId, provider: 'any', config: { a: 1 } }),
    ];
  });

  it('types: a typed instance is a Syncline', () => {
    expectTypeOf(make).returns.toExtend<Syncline>();
    expectTypeOf(make).returns.toExtend<SynclineApi>();
    const withInterface = defineConnector({
      provider: 'i',
      name: 'I',
      configSchema: z.custom<{ url: string }>() as z.ZodType<InterfaceConfig, InterfaceConfig>,
      signalSchemas: { found: z.custom<InterfaceConfig>() },
      sync: async () => ({ signals: [] }),
    });
    expectTypeOf(withInterface).toExtend<Connector>();
    const makeThis = () => createSyncline({ connectors: [withInterface] });
    expectTypeOf(makeThis).returns.toExtend<Syncline>();
  });

  it('types: defineConfig keeps the connectors', () => {
    const config = defineConfig({ connectors: [tracker, plain], scheduler: { batchSize: 10 } });
    const fromConfig = () => createSyncline(config);
    expectTypeOf(fromConfig).returns.toEqualTypeOf<Syncline<typeof tracker | typeof plain>>();
    // @ts-expect-error: unknown option
    defineConfig({ connectors: [tracker], scheduler: { tickInterval: 60 } });
  });
});

interface InterfaceConfig {
  url: string;
}

describe('types: signals', () => {
  compiles('types: kind narrows the payload of feed, read, list and get', async () => {
    const { signals } = createSyncline({ connectors: [tracker] });
    for await (const signal of signals.feed({ consumer: 'c' })) {
      expectTypeOf(signal).toExtend<FeedSignal>();
      expectTypeOf(signal.kind).toEqualTypeOf<'issue.opened' | 'issue.closed'>();
      if (signal.kind === 'issue.opened') {
        expectTypeOf(signal.payload).toEqualTypeOf<{ title: string; labels?: string[] | undefined }>();
        // @ts-expect-error: of another kind
        signal.payload.reason;
      } else {
        // As stored: a Date is text in JSON.
        expectTypeOf(signal.payload).toEqualTypeOf<{ reason: string | null; at: string }>();
      }
      // @ts-expect-error: no such kind
      if (signal.kind === 'issue.opend') return;
    }
    const [read] = (await signals.read({ limit: 1 })).items;
    if (read?.kind === 'issue.opened') expectTypeOf(read.payload.title).toEqualTypeOf<string>();
    const [listed] = (await signals.list()).items;
    if (listed?.kind === 'issue.opened') expectTypeOf(listed.payload.title).toEqualTypeOf<string>();
    const got = await signals.get('id');
    if (got.kind === 'issue.closed') expectTypeOf(got.payload.at).toEqualTypeOf<string>();
  });

  compiles('types: reads without payloads have none', async () => {
    const { signals } = createSyncline({ connectors: [tracker] });
    const [read] = (await signals.read({ payload: false })).items;
    expectTypeOf(read?.payload).toEqualTypeOf<unknown>();
    const [listed] = (await signals.list({ payload: Math.random() > 0.5 })).items;
    expectTypeOf(listed?.payload).toEqualTypeOf<unknown>();
  });

  compiles('types: provider separates connectors with and without schemas', async () => {
    for await (const signal of make().signals.feed()) {
      expectTypeOf(signal.provider).toEqualTypeOf<'tracker' | 'plain' | 'optional'>();
      if (signal.provider === 'tracker' && signal.kind === 'issue.opened')
        expectTypeOf(signal.payload.title).toEqualTypeOf<string>();
      if (signal.provider === 'plain') expectTypeOf(signal.payload).toEqualTypeOf<unknown>();
    }
  });

  compiles('types: signals of syncline/connectors have typed payloads', async () => {
    const { signals } = createSyncline({ connectors: [github(), slack(), googleCalendar(), rss()] });
    for await (const signal of signals.feed()) {
      if (signal.kind === 'issue.closed') expectTypeOf(signal.payload.number).toEqualTypeOf<number>();
      if (signal.kind === 'pull_request.merged')
        expectTypeOf(signal.payload.head.sha).toEqualTypeOf<string>();
      if (signal.kind === 'message.posted') expectTypeOf(signal.payload.channel).toEqualTypeOf<string>();
      if (signal.kind === 'event.created') expectTypeOf(signal.payload.calendar).toEqualTypeOf<string>();
      if (signal.kind === 'item.published') expectTypeOf(signal.payload.title).toEqualTypeOf<string | null>();
      // @ts-expect-error: GitHub does not report it
      if (signal.kind === 'issue.reopened') return;
    }
  });

  compiles('types: without known connectors, signals have any kind and payload', async () => {
    for await (const signal of createSyncline().signals.feed())
      expectTypeOf(signal).toEqualTypeOf<FeedSignal>();
  });
});
