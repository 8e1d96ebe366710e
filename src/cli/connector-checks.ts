import type { Connector, Signal } from '../contract/connector.ts';
import {
  connectInMemory,
  type MemoryConnection,
  type MemoryOptions,
  type MemoryRun,
  type Replay,
} from '../testing/index.ts';
import { count } from './output.ts';

/** Only problems fail the command. */
export interface Finding {
  level: 'problem' | 'warning';
  text: string;
}

const maxRuns = 10_000;

export async function inspect(
  connector: Connector,
  memory: MemoryOptions,
  { expected, replay }: { expected: number | undefined; replay: Replay | undefined },
): Promise<{ findings: Finding[]; signals: number }> {
  const returned: Signal[] = [];
  const connection = connectInMemory(recordResults(connector, returned), memory);
  const runs = await walk(connection);
  const signals = connection.signals.length;
  const findings = [...failures(runs, 'The sync'), ...warnings(runs), ...resultChecks(connection, returned)];
  if (findings.some(({ level }) => level === 'problem')) return { findings, signals };
  if (expected !== undefined && expected !== signals)
    findings.push(problem(`Found ${count(signals, 'signal')}, expected ${expected}.`));
  findings.push(...(await checkSecondSync(connection, replay)));
  return { findings, signals };
}

const problem = (text: string): Finding => ({ level: 'problem', text });
const warning = (text: string): Finding => ({ level: 'warning', text });

function recordResults(connector: Connector, returned: Signal[]): Connector {
  const sync: Connector['sync'] = async (context) => {
    const result = await connector.sync(context);
    if (Array.isArray(result?.signals)) returned.push(...result.signals);
    return result;
  };
  return Object.assign(Object.create(connector) as Connector, { sync });
}

async function walk(connection: MemoryConnection): Promise<MemoryRun[]> {
  const runs: MemoryRun[] = [];
  while (runs.length < maxRuns) {
    const run = await connection.run();
    runs.push(run);
    if (!run.next || run.next.notBefore !== undefined) return runs;
  }
  return runs;
}

function failures(runs: MemoryRun[], what: string): Finding[] {
  if (runs.length >= maxRuns) return [problem(`${what} did not end within ${maxRuns} runs.`)];
  const last = runs.at(-1);
  if (!last || last.outcome === 'succeeded') return [];
  return [problem(`${what} failed in run ${runs.length}, ${last.error?.kind}: ${last.error?.message}`)];
}

const warnings = (runs: MemoryRun[]): Finding[] =>
  runs.flatMap(({ warning: text }, i) => (text ? [problem(`Run ${i + 1}: ${text}.`)] : []));

function resultChecks({ signals, cursor }: MemoryConnection, returned: Signal[]): Finding[] {
  const findings: Finding[] = [];
  const keyless = signals.filter(({ dedupeKey }) => dedupeKey === null);
  if (keyless.length > 0)
    findings.push(
      warning(
        `${count(keyless.length, 'signal')} without a dedupeKey, such as ${keyless[0]?.kind}: ` +
          'repeated records are stored again.',
      ),
    );
  const changed = sameKeyOtherPayload(returned);
  if (changed.length > 0)
    findings.push(
      warning(
        `${count(changed.length, 'dedupeKey')} with several payloads, such as "${changed[0]}": ` +
          'only the first was stored. Include the version in the key (versionKey).',
      ),
    );
  if (signals.length > 0 && cursor === undefined)
    findings.push(warning('No nextCursor: every sync starts from the beginning.'));
  if (signals.length === 0)
    findings.push(
      warning('The sync returned no signals, so duplicates were not tested. Use an account with data.'),
    );
  return findings;
}

function sameKeyOtherPayload(returned: Signal[]): string[] {
  const first = new Map<string, string>();
  const changed = new Set<string>();
  for (const { dedupeKey, payload } of returned) {
    if (typeof dedupeKey !== 'string') continue;
    const text = JSON.stringify(payload);
    if ((first.get(dedupeKey) ?? text) !== text) changed.add(dedupeKey);
    if (!first.has(dedupeKey)) first.set(dedupeKey, text);
  }
  return [...changed];
}

/** New content is fine; the old must not be stored twice. */
async function checkSecondSync(connection: MemoryConnection, replay: Replay | undefined): Promise<Finding[]> {
  const before = connection.signals.map(contentOf);
  const runs = await walk(connection);
  const error = runs.at(-1)?.error;
  if (error && replay && replay.unrecorded().length > 0)
    return [
      warning(
        `The second sync could not be tested: ${error.message} Record with \`connector test --record\`.`,
      ),
    ];
  const fresh = connection.signals.slice(before.length);
  const known = new Set(before);
  const duplicates = fresh.filter((signal) => known.has(contentOf(signal)));
  const findings = [...failures(runs, 'The second sync')];
  if (duplicates.length > 0) {
    const example = `${duplicates[0]?.kind} ${JSON.stringify(duplicates[0]?.payload).slice(0, 200)}`;
    findings.push(
      problem(
        `The second sync stored ${count(duplicates.length, 'signal')} again, such as ${example}. ` +
          'Set dedupeKey on each signal.',
      ),
    );
  }
  if (fresh.length > duplicates.length)
    findings.push(
      warning(
        `The second sync found ${count(fresh.length - duplicates.length, 'new signal')}. ` +
          'The account may have changed between the syncs.',
      ),
    );
  return findings;
}

const contentOf = ({ kind, payload }: { kind: string; payload: unknown }) =>
  `${kind} ${JSON.stringify(payload)}`;
