import type { Command } from 'commander';
import { describeError } from '../contract/errors.ts';
import type { CheckResult, DoctorReport } from '../doctor/index.ts';
import { plain } from '../values/terminal-text.ts';
import { type CommonOptions, withEngine } from './engine.ts';
import { answer, count } from './output.ts';

/** What a script can tell apart: healthy, unhealthy, and not known. */
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
    .description(
      'look for what is wrong with the database and the fleet, and say what to do; changes nothing without --fix',
    )
    .option('--fix', 'repair a feed sequence that is behind, before the checks')
    .addHelpText(
      'after',
      `
Exits with 0 if all is well (there may be warnings), with 1 if something is wrong, and with 2 if it could not look.

Examples:
  $ syncline doctor
  $ syncline doctor --fix
  $ syncline doctor --json | jq '.checks[].findings[]'
  $ syncline doctor > /dev/null || page-somebody`,
    )
    .action(async (options: CommonOptions & { fix?: boolean }) => {
      const fix = options.fix ?? false;
      const examined = await withEngine(options, (syncline) => syncline.doctor({ fix }), {
        checkReady: false,
      }).catch((error: unknown) => {
        process.stderr.write(`error: ${plain(describeError(error))}\n`);
        process.exit(exitCodes.unknown);
      });
      answer(options.json, json(examined), () => lines(examined));
      process.exitCode = exitCodes[examined.outcome];
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
    ...(fixed.length > 0 ? ['Fixed', ...fixed.map((one) => `  ${marks.ok} ${one}`), ''] : []),
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
  const ofKind = (kind: string) => findings.filter(({ severity }) => severity === kind).length;
  const unknown = checks.filter(({ outcome }) => outcome === 'unknown').length;
  const said = [
    ofKind('error') > 0 && count(ofKind('error'), 'error'),
    ofKind('warning') > 0 && count(ofKind('warning'), 'warning'),
    unknown > 0 && `${count(unknown, 'check')} could not be made`,
  ].filter((one) => one !== false);
  return said.length === 0 ? `All is well: ${count(checks.length, 'check')}.` : `Found: ${said.join(', ')}.`;
}
