import { setTimeout as delay } from 'node:timers/promises';
import { until } from '../../support/until.ts';
import type { Member } from '../member.ts';
import { type Fault, leaseSeconds, type World } from '../world.ts';

/** The leases that a process of the fleet has. */
async function leasesOf({ postgres }: World, member: Member): Promise<string[]> {
  const rows = await postgres
    .sql<{ id: string }>('SELECT id FROM syncline.processes WHERE pid = $1', [member.pid()])
    .catch(() => []);
  return rows.map(({ id }) => id);
}

/** One that runs nothing leaves nothing behind. */
async function untilItRuns({ postgres, work }: World, member: Member): Promise<void> {
  await work.push(100);
  const isRunning = async () => {
    const running = await postgres.sql(
      `SELECT FROM syncline.sync_jobs j JOIN syncline.processes p ON p.id = j.process_id WHERE j.status = 'running' AND p.pid = $1`,
      [member.pid()],
    );
    return running.length > 0;
  };
  await until(`${member.name} runs something`, isRunning, 10_000).catch(() => {});
}

/** Mostly executors: they hold what can be lost. */
const victims = ({ fleet, chance }: World) => (chance.percent(70) ? fleet.executors : fleet.members);

/** Every second one while nothing else is wrong, so that it can be measured how soon others take over. */
const kill: Fault = {
  kind: 'kill',
  lane: 'processes',
  often: 3,
  strike: async (world) => {
    const { fleet, chance, recovery } = world;
    const isMeasured = kills++ % 2 === 0;
    const happened = await fleet.borrow(
      chance,
      isMeasured ? fleet.executors : victims(world),
      async (member) => {
        await member.ready();
        const strike = async (isCalm: boolean) => {
          if (isCalm) await untilItRuns(world, member);
          const leases = await leasesOf(world, member);
          await member.end('SIGKILL');
          await recovery.followDead(leases, isCalm);
        };
        await (isMeasured ? recovery.calmly(strike) : strike(false));
        await delay(chance.below(1500));
        member.start();
      },
    );
    return happened ? 1 : 0;
  },
};
let kills = 0;

const stop: Fault = {
  kind: 'stop',
  lane: 'processes',
  often: 3,
  strike: async (world) => {
    const { fleet, chance } = world;
    const happened = await fleet.borrow(chance, victims(world), async (member) => {
      await member.ready();
      member.signal('SIGSTOP');
      await delay((leaseSeconds + 1) * 1000 + chance.below(2000));
      member.signal('SIGCONT');
    });
    return happened ? 1 : 0;
  },
};

/** All of the fleet, one after the other, as a deployment does it. */
const rollingRestart: Fault = {
  kind: 'term',
  lane: 'processes',
  strike: async ({ fleet, chance, onProblem }) => {
    let restarted = 0;
    for (const one of fleet.members) {
      await fleet.borrow(chance, [one], async (member) => {
        await member.ready();
        const how = await member.end('SIGTERM');
        if (how === '0') restarted++;
        else onProblem(`${member.name} was told to end and ended with ${how}: ${member.output()}`);
        member.start();
      });
    }
    return restarted === fleet.members.length ? 1 : 0;
  },
};

export const processFaults = [kill, stop, rollingRestart];
