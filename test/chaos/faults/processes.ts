import { setTimeout as delay } from 'node:timers/promises';
import { until } from '../../support/until.ts';
import { type Fault, type FaultContext, leaseSeconds } from '../fault.ts';
import type { Member } from '../member.ts';

async function leasesOf({ postgres }: FaultContext, member: Member): Promise<string[]> {
  const rows = await postgres
    .sql<{ id: string }>('SELECT id FROM syncline.processes WHERE pid = $1', [member.pid()])
    .catch(() => []);
  return rows.map(({ id }) => id);
}

/** Killing a process without running jobs would have no effect. */
async function untilRunning({ postgres, work }: FaultContext, member: Member): Promise<void> {
  await work.enqueue(100);
  const isRunning = async () => {
    const running = await postgres.sql(
      `SELECT FROM syncline.sync_jobs j JOIN syncline.processes p ON p.id = j.process_id WHERE j.status = 'running' AND p.pid = $1`,
      [member.pid()],
    );
    return running.length > 0;
  };
  await until(`${member.name} runs a job`, isRunning, 10_000).catch(() => {});
}

/** Mostly executors: they hold jobs. */
const targets = ({ fleet, chance }: FaultContext) => (chance.percent(70) ? fleet.executors : fleet.members);

/** Every second kill happens without other faults, to measure the recovery time. */
const kill: Fault = {
  kind: 'kill',
  lane: 'processes',
  perRound: 3,
  inject: async (context) => {
    const { fleet, chance, recovery } = context;
    const isMeasured = kills++ % 2 === 0;
    const tookEffect = await fleet.borrow(
      chance,
      isMeasured ? fleet.executors : targets(context),
      async (member) => {
        await member.ready();
        const killMember = async (isCalm: boolean) => {
          if (isCalm) await untilRunning(context, member);
          const leases = await leasesOf(context, member);
          await member.end('SIGKILL');
          await recovery.trackKilled(leases, isCalm);
        };
        await (isMeasured ? recovery.withoutFaults(killMember) : killMember(false));
        await delay(chance.below(1500));
        member.start();
      },
    );
    return tookEffect ? 1 : 0;
  },
};
let kills = 0;

const stop: Fault = {
  kind: 'stop',
  lane: 'processes',
  perRound: 3,
  inject: async (context) => {
    const { fleet, chance } = context;
    const tookEffect = await fleet.borrow(chance, targets(context), async (member) => {
      await member.ready();
      member.signal('SIGSTOP');
      await delay((leaseSeconds + 1) * 1000 + chance.below(2000));
      member.signal('SIGCONT');
    });
    return tookEffect ? 1 : 0;
  },
};

/** Restarts the whole fleet sequentially, as a deployment does. */
const rollingRestart: Fault = {
  kind: 'term',
  lane: 'processes',
  inject: async ({ fleet, chance, onProblem }) => {
    let restarted = 0;
    for (const target of fleet.members) {
      await fleet.borrow(chance, [target], async (member) => {
        await member.ready();
        const exit = await member.end('SIGTERM');
        if (exit === '0') restarted++;
        else onProblem(`${member.name} exited with ${exit} after SIGTERM: ${member.output()}`);
        member.start();
      });
    }
    return restarted === fleet.members.length ? 1 : 0;
  },
};

export const processFaults = [kill, stop, rollingRestart];
