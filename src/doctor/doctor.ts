import type { Config } from '../config/settings.ts';
import { describeError, SynclineError } from '../contract/errors.ts';
import type { Vault } from '../credentials/index.ts';
import type { Ports } from '../platform/ports.ts';
import type { Database } from '../store/database.ts';
import { repairFeed } from '../store/feed-sequence.ts';
import { checkSchema } from '../store/migrate.ts';
import type { Check, Finding, Severity } from './check.ts';
import { dataChecks } from './data.ts';
import { fleetChecks } from './fleet.ts';
import { describeRepair } from './repair.ts';
import { schemaChecks } from './schema.ts';
import { serverChecks } from './server.ts';
import { workChecks } from './work.ts';

/** What came of a check; `unknown` where it could not be made. */
export interface CheckResult {
  name: string;
  group: Check['group'];
  outcome: 'ok' | Severity | 'unknown';
  detail: string | undefined;
  findings: Finding[];
}

export interface DoctorReport {
  /** The worst of all outcomes. */
  outcome: CheckResult['outcome'];
  at: Date;
  /** What was repaired before the checks, one sentence each; empty unless asked to fix. */
  fixed: string[];
  checks: CheckResult[];
}

const checks: Check[] = [...serverChecks, ...schemaChecks, ...fleetChecks, ...workChecks, ...dataChecks];

/** A check is a few look-ups; one that takes longer must not make a slow database slower. */
const patience = { timeoutMs: 5000, lockTimeoutMs: 1000, readOnly: true };

export interface DoctorContext {
  db: Database;
  ports: Ports;
  config: Config;
  vault: Vault;
  explain: (error: unknown) => unknown;
  /** Repairs first what can be repaired without a decision. */
  fix: boolean;
}

/** Looks at a database as it is now, and says what is wrong with it. The checks run in read-only transactions. */
export async function examine(context: DoctorContext): Promise<DoctorReport> {
  const fixed = context.fix ? await repairs(context) : [];
  const results: CheckResult[] = [];
  for (const check of checks) {
    const hasSchema = !results.some(({ name, outcome }) => name === 'schema version' && outcome !== 'ok');
    results.push(
      hasSchema || check.anySchema
        ? await made(context, check)
        : notMade(check, 'the schema is not of this release'),
    );
  }
  const outcomes = new Set(results.map(({ outcome }) => outcome));
  const outcome = (['error', 'unknown', 'warning'] as const).find((one) => outcomes.has(one)) ?? 'ok';
  return { outcome, at: await context.db.now(), fixed, checks: results };
}

async function repairs({ db, config }: DoctorContext): Promise<string[]> {
  await checkSchema(db, config.database.schema);
  const repaired = await repairFeed(db);
  return repaired ? [describeRepair(repaired)] : [];
}

async function made({ db, config, vault, explain }: DoctorContext, check: Check): Promise<CheckResult> {
  try {
    const { findings, detail } = await db.transaction(
      (tx) => check.look({ tx, now: tx.now, clockSkewSeconds: db.clock.skewSeconds(), config, vault }),
      patience,
    );
    const outcome =
      (['error', 'warning'] as const).find((one) => findings.some(({ severity }) => severity === one)) ??
      'ok';
    return { name: check.name, group: check.group, outcome, detail, findings };
  } catch (thrown) {
    const reason = explain(thrown);
    if (isUnreachable(reason)) throw reason;
    return notMade(check, describeError(reason));
  }
}

/** Without a server or a login nothing can be said; without a single privilege, much. */
function isUnreachable(reason: unknown): boolean {
  if (!(reason instanceof SynclineError)) return false;
  const isPrivilege = (reason.cause as { code?: string } | undefined)?.code === '42501';
  return ['DATABASE_UNREACHABLE', 'DATABASE_REFUSED'].includes(reason.code) && !isPrivilege;
}

const notMade = ({ name, group }: Check, reason: string): CheckResult => ({
  name,
  group,
  outcome: 'unknown',
  detail: `could not look: ${reason}`,
  findings: [],
});
