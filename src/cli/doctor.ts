import type { Command } from 'commander';
import { describeError } from '../contract/errors.ts';
import type { CheckResult, DoctorReport } from '../index.ts';
import { type CommonOptions, withEngine } from './engine.ts';
import { count, note, printResult } from './output.ts';
import { terminal } from './terminal.ts';

const exitCodes = { ok: 0, warning: 0, error: 1, unknown: 2 };

const groups: Record<CheckResult['group'], string> = {
  server: 'Server',
  schema: 'Schema',
  fleet: 'Processes',
  work: 'Work',
  data: 'Data',
};

export function addDoctor(program: Command): void {
  program
    .command('doctor')
    .description('check the database and all processes, and suggest fixes; read-only without --fix')
    .option('--fix', 'repair a feed sequence that is behind, then run the checks')
    .addHelpText(
      'after',
      `
Exit code: 0 if healthy (warnings allowed), 1 if there are errors, 2 if checks could not run.

Examples:
  $ syncline doctor
  $ syncline doctor --fix
  $ syncline doctor --json | jq '.checks[].findings[]'
  $ syncline doctor > /dev/null || page-on-call`,
    )
    .action(async (options: CommonOptions & { fix?: boolean }) => {
      const fix = options.fix ?? false;
      const report = await withEngine(options, (syncline) => syncline.doctor({ fix }), {
        checkReady: false,
      }).catch((error: unknown) => note(`error: ${describeError(error)}`));
      terminal().exitCode = exitCodes[report?.outcome ?? 'unknown'];
      if (report) printResult(options.json, json(report), () => lines(report));
    });
}

const json = ({ outcome, at, fixed, checks }: DoctorReport) => ({
  outcome,
  at: at.toISOString(),
  fixed,
  checks: checks.map(({ detail, ...check }) => ({ ...check, detail: detail ?? null })),
});

const marks = { ok: '✓', warning: '!', error: '✗', unknown: '?' };

function lines({ fixed, checks }: DoctorReport): string[] {
  return [
    ...(fixed.length > 0 ? ['Fixed', ...fixed.map((fix) => `  ${marks.ok} ${fix}`), ''] : []),
    ...Object.entries(groups).flatMap(([group, title]) => [
      title,
      ...checks.filter((check) => check.group === group).flatMap(checkLines),
      '',
    ]),
    summary(checks),
  ];
}

function checkLines({ name, outcome, detail, findings }: CheckResult): string[] {
  return [
    `  ${marks[outcome]} ${name}${detail ? ` (${detail})` : ''}`,
    ...findings.flatMap(({ severity, message, remedy }) => [
      `      ${severity}: ${message}`,
      `      → ${remedy}`,
    ]),
  ];
}

function summary(checks: CheckResult[]): string {
  const findings = checks.flatMap((check) => check.findings);
  const countOf = (kind: string) => findings.filter(({ severity }) => severity === kind).length;
  const unknown = checks.filter(({ outcome }) => outcome === 'unknown').length;
  const parts = [
    countOf('error') > 0 && count(countOf('error'), 'error'),
    countOf('warning') > 0 && count(countOf('warning'), 'warning'),
    unknown > 0 && `${count(unknown, 'check')} could not run`,
  ].filter((part) => part !== false);
  return parts.length === 0
    ? `No problems found (${count(checks.length, 'check')}).`
    : `Found: ${parts.join(', ')}.`;
}
