import pg from 'pg';
import type { Syncline } from '../../../dist/index.js';
import { openSyncline } from '../../peers/syncline.ts';
import { obey } from '../../tools/obey.ts';
import { createDueFleet, synclineSchema } from '../syncline-fleet.ts';

let engine: Syncline;
let onSync = () => {};

obey({
  prepare: async (url, jobs) => {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    await createDueFleet(client, url, jobs);
    await client.end();
  },
  open: async (url) => {
    engine = openSyncline(url, synclineSchema, () => onSync());
    await engine.ready();
  },
  add: async () => {
    await engine.tick();
  },
  run: async (report) => {
    onSync = () => report(1);
    await engine.start({ roles: ['executor'] });
  },
  close: () => engine.stop(),
});
