import type { Chance } from '../http/random.ts';
import { createMember, type Member } from './member.ts';

interface Routes {
  network: string;
  /** Through the transaction pooler, if there is one. */
  pooler: string;
  direct: string;
}

export interface FleetOptions {
  routes: Routes;
  /** One on each route, more through the network. */
  executors: number;
  providerUrl: string;
  serverPort: number;
  onProblem: (problem: string) => void;
}

export interface Fleet {
  members: Member[];
  executors: Member[];
  /** Runs `work` with exclusive use of a free member; false if none is free. */
  borrow(chance: Chance, from: Member[], work: (member: Member) => Promise<void>): Promise<boolean>;
  logCount(pattern: RegExp): number;
  stop(): Promise<void>;
  kill(): void;
}

/** Log lines that prove that a fault reached the fleet. */
export const logPatterns = {
  'disk full': /No space left on device/,
  'read-only': /read-only transaction/,
  'no connection left': /too many clients|remaining connection slots/,
  'lease lost': /this process lost its lease/,
  'jobs of dead processes requeued': /jobs? of a dead process/,
};

export function startFleet(options: FleetOptions): Fleet {
  const { routes, providerUrl, serverPort, onProblem } = options;
  const env = (database: string) => ({
    SYNCLINE_DATABASE_URL: database,
    SYNCLINE_SERVER_PORT: String(serverPort),
    CHAOS_PROVIDER_URL: providerUrl,
  });
  let isStopping = false;
  const add = (name: string, roles: string, database: string): Member => {
    const member = createMember({
      name,
      args: ['start', '--roles', roles],
      env: env(database),
      countedPatterns: Object.values(logPatterns),
      onUnexpectedEnd: (description) => {
        if (isStopping) return;
        onProblem(description);
        member.start();
      },
    });
    member.start();
    return member;
  };
  const { network, pooler, direct } = routes;
  const executors = Array.from({ length: options.executors }, (_, i) =>
    add(`executor-${i + 1}`, 'executor', [direct, pooler][i] ?? network),
  );
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
    logCount: (pattern) => members.reduce((sum, member) => sum + member.logCount(pattern), 0),
    stop: async () => {
      isStopping = true;
      await Promise.all(
        members.map(async (member) => {
          const exit = await member.end('SIGTERM');
          if (exit !== '0') onProblem(`${member.name} exited with ${exit} after SIGTERM: ${member.output()}`);
        }),
      );
      for (const { name, standardError } of members)
        if (standardError() !== '') onProblem(`${name} wrote to standard error: ${standardError()}`);
    },
    kill: () => {
      isStopping = true;
      for (const member of members) member.signal('SIGKILL');
    },
  };
}
