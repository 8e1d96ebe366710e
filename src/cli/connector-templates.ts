import { pagedItems, pagedTests } from './connector-template-test.ts';
import { yamlConnector, yamlTest } from './connector-template-yaml.ts';

export const connectorKinds = ['http', 'code', 'yaml'] as const;
export type ConnectorKind = (typeof connectorKinds)[number];

export interface NewConnector {
  /** The provider's slug, such as `issue-tracker`. */
  slug: string;
  title: string;
  variable: string;
  /** Relative to the working directory. */
  folder: string;
}

export function templateOf(kind: ConnectorKind, names: NewConnector): { connector: string; test: string } {
  switch (kind) {
    case 'http':
      return { connector: httpConnector(names), test: httpTest(names) };
    case 'code':
      return { connector: codeConnector(names), test: codeTest(names) };
    case 'yaml':
      return { connector: yamlConnector(names), test: yamlTest(names) };
  }
}

const httpConnector = ({ slug, title, variable }: NewConnector) => `import {
  type AscendingCursor,
  ascend,
  ascendingCursor,
  bearer,
  createHttp,
  defineConnector,
  optional,
  type Signal,
  versionKey,
} from 'syncline/connector';
import { z } from 'zod';

/** Configuration of a connection. */
const config = z.object({ baseUrl: z.url(), project: z.string() });

/** Fields of a response. A mismatch fails the run and names the field. */
const item = z.looseObject({ id: z.union([z.string(), z.number()]), updated_at: z.string() });
type Item = z.output<typeof item>;

const pageSize = 100;

export const ${variable} = defineConnector({
  provider: '${slug}',
  name: '${title}',
  configSchema: config,
  // Time of the last item, committed with the signals.
  cursorSchema: ascendingCursor,
  // Types the payloads and rejects other kinds.
  signalSchemas: { 'item.updated': item },
  sync: async (context) => {
    const { baseUrl, project } = context.connection.config;
    const cursor: AscendingCursor = context.cursor ?? {};
    // Maps error statuses to engine errors; logs requests.
    const http = createHttp(context, { baseUrl, authorize: optional(bearer()) });

    const { data } = await http.get(\`/projects/\${project}/items\`, {
      // Oldest change first. The start is inclusive: items can share a time.
      query: { since: cursor.since, sort: 'updated', page: cursor.page ?? 1, per_page: pageSize },
      schema: z.array(item),
    });
    const times = data.map(({ updated_at }) => updated_at);
    const next = ascend(cursor, { times, isFull: data.length === pageSize });
    return { signals: data.map(signalOf), nextCursor: next.cursor, hasMore: next.hasMore };
  },
});

function signalOf(item: Item): Signal<'item.updated', Item> {
  return {
    kind: 'item.updated',
    occurredAt: item.updated_at,
    payload: item,
    // Each version is stored once.
    dedupeKey: versionKey(String(item.id), item.updated_at, item),
  };
}
`;

const httpTest = ({
  slug,
  variable,
}: NewConnector) => `import { connectInMemory, crashTest } from 'syncline/testing';
import { expect, it } from 'vitest';
import { ${variable} } from './${slug}.ts';

${pagedItems}  return Response.json(found.slice((page - 1) * size, page * size));
};

const options = { config: { baseUrl: 'https://provider.example', project: 'apollo' }, fetch: provider };

${pagedTests(variable)}`;

const codeConnector = ({
  slug,
  title,
  variable,
}: NewConnector) => `import { defineConnector } from 'syncline/connector';
import { z } from 'zod';

/** Configuration of a connection, validated before it runs. */
const config = z.object({ first: z.number().int().default(1) });

/** The only state, committed with the signals. */
const cursor = z.object({ after: z.number().int() });

const pageSize = 100;

export const ${variable} = defineConnector({
  provider: '${slug}',
  name: '${title}',
  configSchema: config,
  cursorSchema: cursor,
  sync: async ({ connection, cursor: last, abortSignal, log }) => {
    const after = last?.after ?? connection.config.first - 1;
    const entries = await readEntries(after, pageSize, abortSignal);
    log.debug(\`\${entries.length} entries after \${after}\`);
    return {
      signals: entries.map((entry) => ({
        kind: 'entry.added',
        occurredAt: entry.at,
        payload: entry,
        // Each entry is stored once.
        dedupeKey: String(entry.number),
      })),
      // Without entries the cursor does not change.
      nextCursor: { after: entries.at(-1)?.number ?? after },
      hasMore: entries.length === pageSize,
    };
  },
});

interface Entry {
  number: number;
  at: string;
}

/** Replace this: read a file, query a database or call a library. Stop when the signal aborts. */
async function readEntries(after: number, limit: number, abortSignal: AbortSignal): Promise<Entry[]> {
  abortSignal.throwIfAborted();
  const all = Array.from({ length: 250 }, (_, i) => ({ number: i + 1, at: '2025-01-01T00:00:00Z' }));
  return all.filter(({ number }) => number > after).slice(0, limit);
}
`;

const codeTest = ({
  slug,
  variable,
}: NewConnector) => `import { connectInMemory, crashTest } from 'syncline/testing';
import { expect, it } from 'vitest';
import { ${variable} } from './${slug}.ts';

it('finds every entry once', async () => {
  const connection = connectInMemory(${variable}, { config: { first: 1 } });
  await connection.sync();
  expect(connection.signals).toHaveLength(250);
  await connection.sync();
  expect(connection.signals).toHaveLength(250);
});

it('loses and duplicates nothing, wherever it is interrupted', async () => {
  const report = await crashTest(${variable}, { config: { first: 1 }, expected: 250 });
  expect(report.problems).toEqual([]);
}, 60_000);
`;
