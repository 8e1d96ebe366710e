import { expect } from 'vitest';
import { loadConfig } from '../../src/config/load.ts';
import { systemPorts } from '../../src/platform/ports.ts';
import { openDatabase, type Queryable } from '../../src/store/database.ts';
import { filledLookup } from './filled-lookup.ts';

export interface Plan {
  'Node Type': string;
  'Index Name'?: string;
  'Index Cond'?: string;
  'Relation Name'?: string;
  'Actual Rows': number;
  'Actual Loops': number;
  'Rows Removed by Filter'?: number;
  'Shared Hit Blocks': number;
  'Shared Read Blocks': number;
  Plans?: Plan[];
}

/** Runs EXPLAIN ANALYZE on the statement of a store function, in a transaction of the engine. */
export async function explain(url: string, send: (db: Queryable) => Promise<unknown>): Promise<Plan> {
  let plan: Plan | undefined;
  const { config } = loadConfig({ options: { database: url } });
  const db = openDatabase(config.database, {
    ports: systemPorts,
    onConnectionLost: () => expect.fail(),
    onSkew: () => {},
  });
  await db.transaction((tx) =>
    send({
      schema: tx.schema,
      tables: tx.tables,
      lookup: filledLookup(tx.tables),
      query: async (text, values) => {
        const [row] = await tx.query<{ 'QUERY PLAN': { Plan: Plan }[] }>(
          `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${text}`,
          values,
        );
        plan = row?.['QUERY PLAN'][0]?.Plan;
        return [];
      },
    }),
  );
  await db.close();
  return plan as Plan;
}

export const nodes = (plan: Plan): Plan[] => [plan, ...(plan.Plans ?? []).flatMap(nodes)];
export const pagesRead = (plan: Plan) => plan['Shared Hit Blocks'] + plan['Shared Read Blocks'];
