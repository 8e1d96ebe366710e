import { executor, startEngine } from '../engine/engine.ts';
import type { EngineReport } from '../engine/worker.ts';
import type { Fleet } from '../tools/fleet.ts';

export const processCount = 2;
export const poolSize = 10;

export type ProcessReport = Omit<EngineReport, 'lagsMs' | 'startedAt'>;

/** The processes of the soak. They live from the capacity measurement to the end. */
export interface Processes {
  start(url: string, fleet: Fleet, retentionMinutes: number): Promise<ProcessReport[]>;
  send(action: 'report' | 'stop'): Promise<ProcessReport[]>;
  end(): Promise<void>;
}

export function startProcesses(): Processes {
  const children = Array.from({ length: processCount }, () => startEngine(['--expose-gc']));
  const each = async (work: (child: (typeof children)[number]) => Promise<EngineReport>) =>
    (await Promise.all(children.map(work))).map(({ lagsMs: _, startedAt: __, ...report }) => report);
  return {
    start: (url, { schemaName: schema }, retentionMinutes) =>
      each((child) =>
        child.send({
          action: 'start',
          roles: ['scheduler', 'executor'],
          options: { database: { url, schema, poolSize }, executor },
          connector: 'numbered',
          retentionMinutes,
        }),
      ),
    send: (action) => each((child) => child.send({ action })),
    end: async () => {
      await Promise.all(children.map((child) => child.end()));
    },
  };
}
