import type { Config } from '../config/settings.ts';
import type { Ports } from '../ports.ts';
import type { Database } from '../store/database.ts';
import { deleteEvents } from '../store/events.ts';
import { deleteEndedJobs } from '../store/jobs.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import { type Loop, startLoop } from './loop.ts';

export interface JanitorContext {
  db: Database;
  config: Config['retention'];
  ports: Ports;
  telemetry: Telemetry;
}

/** Small, so that no delete holds locks or blocks a vacuum for long. */
const batchSize = 500;
/** After a full batch there is more to do: a short breath for everyone else, then on. */
const breathMs = 50;
const restMs = 60_000;

/** Deletes jobs and events that are older than they are kept. When a connection last ran is kept with the connection. */
export function startJanitor(context: JanitorContext): Loop {
  const { ports, telemetry } = context;
  return startLoop({
    ports,
    onFailure: (error, retryMs) => telemetry.roundFailed('janitor', error, retryMs),
    runOnce: async () => ((await prune(context)) ? breathMs : restMs),
  });
}

/** Deletes one batch of each; returns whether there may be more. */
async function prune({ db, config, ports, telemetry }: JanitorContext): Promise<boolean> {
  const cutoff = (days: number) => new Date(ports.now() - days * 24 * 3600 * 1000);
  const [jobs, events] = await db.transaction(
    async (tx): Promise<[number, number]> => [
      await deleteEndedJobs(tx, cutoff(config.endedJobsDays), batchSize),
      await deleteEvents(tx, cutoff(config.eventsDays), batchSize),
    ],
  );
  if (jobs > 0) telemetry.pruned(jobs, 'ended job');
  if (events > 0) telemetry.pruned(events, 'event');
  return jobs === batchSize || events === batchSize;
}
