/** Worker process of the limit: it only calls procedures and waits. */
import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import { withClient } from '../tools/postgres.ts';
import { connectForProcedures, createProcedures, schedule, work } from './limit.ts';
import { createDueFleet, synclineSchema } from './subjects.ts';
import { serveWorker } from './workers.ts';

let schedulers: pg.Client[];
let worker: pg.Client;
let isOpen = false;
let working = Promise.resolve();

async function workWhileOpen(report: (jobs: number) => void): Promise<void> {
  while (isOpen) {
    const done = await work(worker);
    if (done > 0) report(done);
    else await delay(1);
  }
}

serveWorker({
  prepare: async (url, _variant, jobs) => {
    await createDueFleet(url, jobs);
    await withClient(url, (client) => createProcedures(client, synclineSchema));
  },
  open: async (url) => {
    const connect = () => connectForProcedures(url, synclineSchema);
    // A tick of the engine uses two sessions as well.
    schedulers = await Promise.all([connect(), connect()]);
    worker = await connect();
    isOpen = true;
  },
  add: async () => {
    await Promise.all(schedulers.map(schedule));
  },
  run: async (report) => {
    working = workWhileOpen(report);
    working.catch((error: unknown) => console.error(error));
  },
  close: async () => {
    isOpen = false;
    await working;
    await Promise.all([...schedulers, worker].map((client) => client.end()));
  },
});
