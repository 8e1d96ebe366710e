import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import type { Syncline } from '../../dist/index.js';
import { nowMs } from '../tools/clock.ts';
import type { Fleet } from '../tools/fleet.ts';

/** What became of one trigger, in milliseconds since `trigger` was called. */
export interface Sample {
  /** `trigger` has returned. */
  acknowledgedMs: number;
  /** The connector was called. */
  startedMs: number;
  /** A reader of the table saw the signal; looked for every millisecond or two. */
  visibleMs: number;
  /** The feed handed the signal to a consumer in another process. */
  fedMs: number;
}

export interface Asked {
  jobId: string;
  at: number;
  acknowledgedAt: number;
  visibleAt: number;
}

const [shortestPauseMs, longestPauseMs] = [50, 500];
const lookMs = 1;
const patienceMs = 60_000;

/** Triggers one connection after the other, each when the signal of the one before is there, after a random pause. */
export async function triggerInTurns(
  { client, fleet, api }: { client: pg.Client; fleet: Fleet; api: Syncline },
  connectionIds: string[],
  count: number,
): Promise<Asked[]> {
  const asked: Asked[] = [];
  for (let i = 0; i < count; i++) {
    await delay(shortestPauseMs + Math.random() * (longestPauseMs - shortestPauseMs));
    const connectionId = connectionIds[i % connectionIds.length] as string;
    const at = nowMs();
    const { jobId } = await api.connections.trigger(connectionId);
    const acknowledgedAt = nowMs();
    const visibleAt = await whenVisible(client, fleet, connectionId, jobId);
    asked.push({ jobId, at, acknowledgedAt, visibleAt });
  }
  return asked;
}

async function whenVisible(
  client: pg.Client,
  { schema }: Fleet,
  connectionId: string,
  jobId: string,
): Promise<number> {
  const latest = nowMs() + patienceMs;
  for (;;) {
    const { rowCount } = await client.query({
      name: 'visible',
      text: `SELECT FROM ${schema}.signals WHERE connection_id = $1 AND dedupe_key = $2`,
      values: [connectionId, jobId],
    });
    if (rowCount === 1) return nowMs();
    if (nowMs() > latest) throw new Error(`Job ${jobId} stored nothing within ${patienceMs} ms.`);
    await delay(lookMs);
  }
}

/** Throws unless every trigger led to a run and to a signal that the consumer got. */
export function samplesOf(
  asked: Asked[],
  startedAt: Map<string, number>,
  fedAt: Map<string, number>,
): Sample[] {
  return asked.map(({ jobId, at, acknowledgedAt, visibleAt }) => {
    const [started, fed] = [startedAt.get(jobId), fedAt.get(jobId)];
    if (started === undefined || fed === undefined)
      throw new Error(
        `Job ${jobId} was triggered, but ${started ? 'not handed to the consumer' : 'not run'}.`,
      );
    return {
      acknowledgedMs: acknowledgedAt - at,
      startedMs: started - at,
      visibleMs: visibleAt - at,
      fedMs: fed - at,
    };
  });
}
