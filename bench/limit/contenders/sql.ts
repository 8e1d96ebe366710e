/** Only calls and waits: all of the work is that of two procedures in the database. */
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { createDueFleet, synclineSchema } from '../../real-job/syncline-fleet.ts';
import { withClient } from '../../tools/client.ts';
import { obey } from '../../tools/obey.ts';

const batchSize = 1000;
/** How soon to look again when nothing is queued, while somebody still places. */
const lookAgainMs = 1;
/** What the engine's own transactions begin with. */
const settings = {
  search_path: synclineSchema,
  enable_seqscan: 'off',
  enable_bitmapscan: 'off',
  enable_mergejoin: 'off',
  enable_hashjoin: 'off',
  jit: 'off',
  'syncline.triggers': 'off',
};
const options = Object.entries(settings)
  .map(([name, value]) => `-c ${name}=${value}`)
  .join(' ');
const procedures = readFileSync(new URL('../limit.sql', import.meta.url), 'utf8');

let placers: pg.Client[];
let worker: pg.Client;
let isOpen = false;
let working = Promise.resolve();

async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url, options });
  await client.connect();
  return client;
}

async function work(report: (jobs: number) => void): Promise<void> {
  while (isOpen) {
    const { rows } = await worker.query<{ done: number }>(`CALL limit_work(${batchSize}, NULL)`);
    const done = rows[0]?.done ?? 0;
    if (done > 0) report(done);
    else await delay(lookAgainMs);
  }
}

obey({
  prepare: (url, jobs) =>
    withClient(url, async (client) => {
      await createDueFleet(client, url, jobs);
      await client.query(`SET search_path = ${synclineSchema}`);
      await client.query(procedures);
    }),
  open: async (url) => {
    // Two, as a tick of the engine places.
    placers = await Promise.all([connect(url), connect(url)]);
    worker = await connect(url);
    isOpen = true;
  },
  add: async () => {
    await Promise.all(placers.map((placer) => placer.query(`CALL limit_place(${batchSize}, NULL)`)));
  },
  run: async (report) => {
    working = work(report);
    // `close` fails with it, but is not told to while nothing gets done.
    working.catch((error: unknown) => console.error(error));
  },
  close: async () => {
    isOpen = false;
    await working;
    await Promise.all([...placers, worker].map((client) => client.end()));
  },
});
