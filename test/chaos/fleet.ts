import type { Chance } from '../http/random.ts';
import { createMember, type Member } from './member.ts';

/** Where each process of the fleet finds its database. */
interface Routes {
  /** By way of the network that fails. */
  network: string;
  /** By way of the transaction pooler, if there is one. */
  pooler: string;
  direct: string;
}

export interface FleetOptions {
  routes: Routes;
  providerUrl: string;
  serverPort: number;
  /** What should not have happened. */
  onProblem: (what: string) => void;
}

export interface Fleet {
  members: Member[];
  executors: Member[];
  /** A member that nobody else does anything to meanwhile; waits for one. */
  borrow(chance: Chance, from: Member[], work: (member: Member) => Promise<void>): Promise<boolean>;
  /** How often something was said, by all together. */
  heard(pattern: RegExp): number;
  /** Ends all of them in order. */
  stop(): Promise<void>;
  kill(): void;
}

/** What the fleet says of its troubles, so that it can be told that they reached it. */
export const troubles = {
  'disk full': /No space left on device/,
  'read-only': /read-only transaction/,
  'no connection left': /too many clients|remaining connection slots/,
  'lease lost': /this process lost its lease/,
  'jobs of the dead put back': /of a process that no longer lives/,
};

export function startFleet({ routes, providerUrl, serverPort, onProblem }: FleetOptions): Fleet {
  const env = (database: string) => ({
    SYNCLINE_DATABASE_URL: database,
    SYNCLINE_SERVER_PORT: String(serverPort),
    CHAOS_PROVIDER_URL: providerUrl,
  });
  let isOver = false;
  const add = (name: string, roles: string, database: string): Member => {
    const member = createMember({
      name,
      args: ['start', '--roles', roles],
      env: env(database),
      watchFor: Object.values(troubles),
      onUnexpectedEnd: (how) => {
        if (isOver) return;
        onProblem(how);
        member.start();
      },
    });
    member.start();
    return member;
  };
  const { network, pooler, direct } = routes;
  const executors = [
    add('executor-1', 'executor', network),
    add('executor-2', 'executor', network),
    add('executor-3', 'executor', direct),
    add('executor-4', 'executor', pooler),
  ];
  const members = [
    ...executors,
    add('scheduler-1', 'scheduler,janitor', network),
    add('scheduler-2', 'scheduler', pooler),
    add('server', 'server', network),
  ];
  const borrowed = new Set<Member>();

  return {
    members,
    executors,
    borrow: async (chance, from, work) => {
      const free = from.filter((member) => !borrowed.has(member));
      if (free.length === 0) return false;
      const member = chance.pick(free);
      borrowed.add(member);
      try {
        await work(member);
      } finally {
        borrowed.delete(member);
      }
      return true;
    },
    heard: (pattern) => members.reduce((sum, member) => sum + member.heard(pattern), 0),
    stop: async () => {
      isOver = true;
      await Promise.all(
        members.map(async (member) => {
          const how = await member.end('SIGTERM');
          if (how !== '0')
            onProblem(`${member.name} was told to end and ended with ${how}: ${member.output()}`);
        }),
      );
      for (const { name, complaints } of members)
        if (complaints() !== '') onProblem(`${name} complained: ${complaints()}`);
    },
    kill: () => {
      isOver = true;
      for (const member of members) member.signal('SIGKILL');
    },
  };
}
