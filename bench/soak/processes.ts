import { type EngineProcess, executor, startEngine } from '../engine/engine.ts';
import type { EngineReport } from '../engine/worker.ts';
import type { Fleet } from '../tools/fleet.ts';

export const processCount = 2;
export const poolSize = 10;

export type ProcessReport = Omit<EngineReport, 'lagsMs' | 'startedAt'>;

export type Processes = ReturnType<typeof startProcesses>;

/** The processes of the soak. They live from the capacity measurement to the end. */
export function startProcesses() {
  const children = Array.from({ length: processCount }, () => startEngine(['--expose-gc']));
  const each = async (work: (child: EngineProcess) => Promise<EngineReport>): Promise<ProcessReport[]> =>
    (await Promise.all(children.map(work))).map(({ lagsMs: _, startedAt: __, ...report }) => report);
  return {
    start: (url: string, { schemaName: schema }: Fleet, retentionMinutes: number) =>
      each((child) =>
        child.call('start', {
          roles: ['scheduler', 'executor'],
          options: { database: { url, schema, poolSize }, executor },
          connector: 'numbered',
          retentionMinutes,
        }),
      ),
    report: () => each((child) => child.call('report')),
    stop: () => each((child) => child.call('stop')),
    end: () => Promise.all(children.map((child) => child.end())),
  };
}
