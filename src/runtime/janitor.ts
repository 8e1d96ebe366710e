import type { Config } from '../config/settings.ts';
import type { Ports } from '../ports.ts';
import type { Database } from '../store/database.ts';
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

/** Deletes jobs that ended longer ago than they are kept. When a connection last ran is kept with the connection. */
export function startJanitor(context: JanitorContext): Loop {
  const { ports, telemetry } = context;
  return startLoop({
    ports,
    onFailure: (error, retryMs) => telemetry.roundFailed('janitor', error, retryMs),
    runOnce: async () => ((await prune(context)) === batchSize ? breathMs : restMs),
  });
}

/** Deletes one batch, and returns how many jobs it held. */
async function prune({ db, config, ports, telemetry }: JanitorContext): Promise<number> {
  const cutoff = new Date(ports.now() - config.endedJobsDays * 24 * 3600 * 1000);
  const pruned = await db.transaction((tx) => deleteEndedJobs(tx, cutoff, batchSize));
  if (pruned > 0) telemetry.jobsPruned(pruned);
  return pruned;
}
