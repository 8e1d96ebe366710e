import type { Connector, Signal } from '../contract/connector.ts';
import {
  connectInMemory,
  type MemoryConnection,
  type MemoryOptions,
  type MemoryRun,
} from '../testing/index.ts';
import { count } from './output.ts';

/** What `connector test` says of a connector. A warning may be as its author wants it. */
export interface Finding {
  level: 'problem' | 'warning';
  text: string;
}

/** More of one kind say the same. */
const maxRuns = 10_000;

/** Syncs twice, and looks at what came of it. */
export async function inspect(
  connector: Connector,
  memory: MemoryOptions,
  { expected, isReplay }: { expected: number | undefined; isReplay: boolean },
): Promise<{ findings: Finding[]; signals: number }> {
  const returned: Signal[] = [];
  const connection = connectInMemory(listening(connector, returned), memory);
  const runs = await walk(connection);
  const signals = connection.signals.length;
  const findings = [...failures(runs, 'The sync'), ...warnings(runs), ...resultChecks(connection, returned)];
  if (findings.some(({ level }) => level === 'problem')) return { findings, signals };
  if (expected !== undefined && expected !== signals)
    findings.push(problem(`${count(signals, 'signal')} were found, and ${expected} are expected.`));
  findings.push(...(await again(connection, isReplay)));
  return { findings, signals };
}

const problem = (text: string): Finding => ({ level: 'problem', text });
const warning = (text: string): Finding => ({ level: 'warning', text });

/** The connector, and everything that it returns before the engine has absorbed anything. */
function listening(connector: Connector, returned: Signal[]): Connector {
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
    const ended = await connection.run();
    runs.push(ended);
    if (!ended.next || ended.next.notBefore !== undefined) return runs;
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
  runs.flatMap(({ warning: said }, i) => (said ? [problem(`Run ${i + 1}: ${said}.`)] : []));

function resultChecks({ signals, cursor }: MemoryConnection, returned: Signal[]): Finding[] {
  const findings: Finding[] = [];
  const keyless = signals.filter(({ dedupeKey }) => dedupeKey === null);
  if (keyless.length > 0)
    findings.push(
      warning(
        `${count(keyless.length, 'signal')} without a dedupeKey, such as ${keyless[0]?.kind}: whatever the provider shows twice is stored twice.`,
      ),
    );
  const changed = sameKeyOtherPayload(returned);
  if (changed.length > 0)
    findings.push(
      warning(
        `${count(changed.length, 'dedupeKey')} had several payloads, such as "${changed[0]}": only the first was stored. Does the key hold the version? (versionKey)`,
      ),
    );
  if (signals.length > 0 && cursor === undefined)
    findings.push(warning('There is no nextCursor: every sync starts from the beginning.'));
  if (signals.length === 0)
    findings.push(warning('Nothing was found, so little was tested: use an account that has something.'));
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

/** What is there already must not come again. What is new may have happened meanwhile. */
async function again(connection: MemoryConnection, isReplay: boolean): Promise<Finding[]> {
  const before = connection.signals.map(contentOf);
  const runs = await walk(connection);
  const unrecorded = runs.at(-1)?.error?.message ?? '';
  if (isReplay && /is not recorded in|more often than it is recorded/.test(unrecorded))
    return [
      warning(`The second sync could not be tested: ${unrecorded} Record with \`connector test --record\`.`),
    ];
  const fresh = connection.signals.slice(before.length);
  const known = new Set(before);
  const doubled = fresh.filter((signal) => known.has(contentOf(signal)));
  const findings = [...failures(runs, 'The second sync')];
  if (doubled.length > 0)
    findings.push(
      problem(
        `The second sync stored ${count(doubled.length, 'signal')} again, such as ${doubled[0]?.kind} ${JSON.stringify(doubled[0]?.payload).slice(0, 200)}. Give each a dedupeKey.`,
      ),
    );
  if (fresh.length > doubled.length)
    findings.push(
      warning(
        `The second sync found ${count(fresh.length - doubled.length, 'signal')} that the first had not: did something happen meanwhile?`,
      ),
    );
  return findings;
}

const contentOf = ({ kind, payload }: { kind: string; payload: unknown }) =>
  `${kind} ${JSON.stringify(payload)}`;
