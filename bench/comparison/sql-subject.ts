import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import { withClient } from '../tools/postgres.ts';
import { reportDone, serveCommands } from '../tools/serve-commands.ts';
import { connectForProcedures, createProcedures, schedule, work } from './limit.ts';
import { createDueFleet, schemaName } from './subjects.ts';
import type { WorkerApi } from './workers.ts';

let schedulers: pg.Client[];
let worker: pg.Client;
let isOpen = false;
let working = Promise.resolve();

async function workWhileOpen(): Promise<void> {
  while (isOpen) {
    const done = await work(worker);
    if (done > 0) reportDone(done);
    else await delay(1);
  }
}

serveCommands({
  prepare: async (url, _variant, jobs) => {
    await createDueFleet(url, jobs);
    await withClient(url, (client) => createProcedures(client, schemaName));
  },
  open: async (url) => {
    const connect = () => connectForProcedures(url, schemaName);
    // A tick of the engine uses two sessions as well.
    schedulers = await Promise.all([connect(), connect()]);
    worker = await connect();
    isOpen = true;
  },
  add: async () => void (await Promise.all(schedulers.map(schedule))),
  run: async () => {
    working = workWhileOpen();
    working.catch((error: unknown) => console.error(error));
  },
  close: async () => {
    isOpen = false;
    await working;
    await Promise.all([...schedulers, worker].map((client) => client.end()));
  },
} satisfies WorkerApi);
