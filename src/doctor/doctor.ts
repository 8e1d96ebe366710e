import type { Config } from '../config/settings.ts';
import { describeError, SynclineError } from '../contract/errors.ts';
import type { Vault } from '../credentials/index.ts';
import type { Ports } from '../platform/ports.ts';
import type { Database } from '../store/database.ts';
import { repairFeed } from '../store/feed-sequence.ts';
import { checkSchema } from '../store/schema-version.ts';
import type { Check, Finding, Severity } from './check.ts';
import { dataChecks } from './data.ts';
import { fleetChecks } from './fleet.ts';
import { demandChecks, networkChecks } from './network.ts';
import { describeRepair } from './repair.ts';
import { schemaChecks } from './schema.ts';
import { serverChecks } from './server.ts';
import { workChecks } from './work.ts';

/** `unknown`: it could not run. */
export interface CheckResult {
  name: string;
  group: Check['group'];
  outcome: 'ok' | Severity | 'unknown';
  detail: string | undefined;
  findings: Finding[];
}

/** The result of `doctor`: the worst outcome, and all checks. */
export interface DoctorReport {
  outcome: CheckResult['outcome'];
  at: Date;
  /** Empty without `fix`. */
  fixed: string[];
  checks: CheckResult[];
}

const checks: Check[] = [
  ...serverChecks,
  ...networkChecks,
  ...schemaChecks,
  ...fleetChecks,
  ...demandChecks,
  ...workChecks,
  ...dataChecks,
];

/** Bounds the load on a slow database. */
const checkLimits = { timeoutMs: 5000, lockTimeoutMs: 1000, readOnly: true };

export interface DoctorContext {
  db: Database;
  ports: Ports;
  config: Config;
  vault: Vault;
  explain: (error: unknown) => unknown;
  fix: boolean;
}

export async function examine(context: DoctorContext): Promise<DoctorReport> {
  const fixed = context.fix ? await repairs(context) : [];
  const results: CheckResult[] = [];
  for (const check of checks) {
    const schema = results.find(({ name }) => name === 'schema version')?.outcome ?? 'ok';
    // The previous release's schema is usable, but has another shape.
    const isUsable = schema === 'ok' || (schema === 'warning' && check.group !== 'schema');
    results.push(
      isUsable || check.anySchema
        ? await runCheck(context, check)
        : notRun(check, 'the schema version does not match this release'),
    );
  }
  const outcomes = new Set(results.map(({ outcome }) => outcome));
  const outcome =
    (['error', 'unknown', 'warning'] as const).find((candidate) => outcomes.has(candidate)) ?? 'ok';
  return { outcome, at: await context.db.now(), fixed, checks: results };
}

async function repairs({ db, config }: DoctorContext): Promise<string[]> {
  await checkSchema(db, config.database.schema);
  const repaired = await repairFeed(db);
  return repaired ? [describeRepair(repaired)] : [];
}

async function runCheck({ db, config, vault, explain }: DoctorContext, check: Check): Promise<CheckResult> {
  try {
    const { findings, detail } = await db.transaction(
      (tx) => check.run({ tx, now: tx.now, clockSkewSeconds: db.clock.skewSeconds(), config, vault }),
      checkLimits,
    );
    const outcome =
      (['error', 'warning'] as const).find((level) => findings.some(({ severity }) => severity === level)) ??
      'ok';
    return { name: check.name, group: check.group, outcome, detail, findings };
  } catch (thrown) {
    const reason = explain(thrown);
    if (isUnreachable(reason)) throw reason;
    return notRun(check, describeError(reason));
  }
}

/** A missing privilege affects only single checks. */
function isUnreachable(reason: unknown): boolean {
  if (!(reason instanceof SynclineError)) return false;
  const isPrivilege = (reason.cause as { code?: string } | undefined)?.code === '42501';
  return ['DATABASE_UNREACHABLE', 'DATABASE_REFUSED'].includes(reason.code) && !isPrivilege;
}

const notRun = ({ name, group }: Check, reason: string): CheckResult => ({
  name,
  group,
  outcome: 'unknown',
  detail: `could not run: ${reason}`,
  findings: [],
});
