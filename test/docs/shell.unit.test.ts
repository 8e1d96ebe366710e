import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Command, CommanderError } from 'commander';
import { afterAll, describe, expect, it } from 'vitest';
import { cliProgram } from '../../scripts/reference/cli.ts';
import { describeError } from '../../src/contract/errors.ts';
import { type Block, blocksOf, pages } from '../support/markdown.ts';
import { startProcess } from '../support/process.ts';

const folder = mkdtempSync(join(tmpdir(), 'syncline-docs-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const programs = join(folder, 'bin');
const recorded = join(folder, 'commands');

/** Records its arguments, one line per command; words end with the unit separator. */
const recorder = `#!/bin/sh\n{ printf '%s\\037' "$@"; echo; } >> "${recorded}"\n`;
mkdirSync(programs);
writeFileSync(join(programs, 'syncline'), recorder);
writeFileSync(join(programs, 'npx'), '#!/bin/sh\n[ "$1" = syncline ] || exit 0\nshift\nexec syncline "$@"\n');
for (const name of ['syncline', 'npx']) chmodSync(join(programs, name), 0o755);

/** Any UUID: commands validate ids before they use them. */
const anId = '0190f5e2-7c1a-7000-8000-5f1e0c3a9b42';

/** The block with values for `<placeholders>`, without redirections from and to files. */
const runnable = ({ text }: Block) =>
  text
    .replaceAll(/<[a-z][\w -]*>/gi, anId)
    .replaceAll(/[ ]\d?(?:<|>>?) ?[\w./~-]+/g, '')
    .replaceAll('…', 'x');

/**
 * A restricted shell that finds only the recorder: other commands do nothing, and no file is written. Each block runs
 * in a subshell, after a marker.
 */
const script = `
command_not_found_handle() { :; }
set -r
n=0
for block; do
  syncline block $n
  (eval "$block")
  n=$((n + 1))
done`;

async function recordCommands(blocks: Block[]): Promise<[Block, string[]][]> {
  const env = { PATH: programs, HOME: folder };
  const args = ['-c', script, 'docs', ...blocks.map(runnable)];
  await startProcess('/bin/bash', args, { cwd: folder, env }).finished;
  const lines = readFileSync(recorded, 'utf8').split('\n').slice(0, -1);
  let block: Block | undefined;
  return lines.flatMap((line) => {
    const words = line.split('\u001f').slice(0, -1);
    if (words[0] === 'block') block = blocks[Number(words[1])];
    return block && words[0] !== 'block' ? [[block, words] as [Block, string[]]] : [];
  });
}

/** Parses as the CLI does, and runs nothing. */
function dryRun(command: Command): Command {
  for (const child of command.commands) dryRun(child);
  command.exitOverride().configureOutput({ writeOut: () => {}, writeErr: () => {}, outputError: () => {} });
  if (command.commands.length === 0) command.action(() => {});
  return command;
}

async function problemsOf(program: Command, args: string[]): Promise<string[]> {
  try {
    await program.parseAsync(args, { from: 'user' });
    return [];
  } catch (error) {
    return error instanceof CommanderError && error.exitCode === 0 ? [] : [describeError(error)];
  }
}

const blocks = pages()
  .flatMap(blocksOf)
  .filter(({ language }) => language === 'sh');

describe('docs: shell', () => {
  it('docs: every sh block of README.md and docs/ is valid shell', async () => {
    expect(blocks.length).toBeGreaterThan(25);
    const problems = await Promise.all(
      blocks.map(async (block) => {
        const checked = await startProcess('/bin/bash', ['-n', '-c', runnable(block)]).finished;
        return checked.code === 0 ? [] : [`${block.path}:${block.line}: ${checked.stderr.trim()}`];
      }),
    );
    expect(problems.flat()).toEqual([]);
  });

  it('docs: every syncline command in README.md and docs/ exists, with its options and arguments', async () => {
    const commands = await recordCommands(blocks);
    const program = dryRun(await cliProgram());
    const problems: string[] = [];
    for (const [{ path, line }, args] of commands)
      for (const problem of await problemsOf(program, args))
        problems.push(`${path}:${line}: syncline ${args.join(' ')}: ${problem}`);
    expect(problems).toEqual([]);
    const written = blocks.flatMap(({ text }) => text.match(/^(?:npx )?syncline /gm) ?? []).length;
    expect(commands.length).toBeGreaterThanOrEqual(written);
  });
});
