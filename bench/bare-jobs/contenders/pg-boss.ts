import type { PgBoss } from 'pg-boss';
import { openPgBoss, pgBossQueue, pgBossSettings } from '../../peers/pg-boss.ts';
import { obey } from '../../tools/obey.ts';

const addedAtOnce = 5000;
let boss: PgBoss;

obey({
  prepare: async (url) => {
    const installer = await openPgBoss(url);
    await installer.createQueue(pgBossQueue, { notify: true });
    await installer.stop({ graceful: false });
  },
  open: async (url) => {
    boss = await openPgBoss(url);
  },
  add: async (jobs) => {
    for (let first = 0; first < jobs; first += addedAtOnce) {
      const batch = Array.from({ length: Math.min(addedAtOnce, jobs - first) }, (_, i) => ({
        data: { id: first + i },
      }));
      await boss.insert(pgBossQueue, batch, { returnId: false });
    }
  },
  run: async (report) => {
    await boss.work(pgBossQueue, pgBossSettings, async (jobs) => report(jobs.length));
  },
  close: () => boss.stop({ graceful: true, close: true, timeout: 5000 }),
});
