import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { useDatabase } from './support/database.ts';
import { startProcess } from './support/process.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const database = useDatabase();

describe('the documentation matches the code', () => {
  it('docs: the README program runs unchanged', async () => {
    const program = /```ts\n(.*?)```/s.exec(read('README.md'))?.[1] as string;
    expect(program.trim().split('\n').length).toBeLessThanOrEqual(14);
    // In the project folder, so that the import by package name resolves.
    const running = startProcess(process.execPath, ['--input-type=module', '-e', program], {
      cwd: root,
      env: { DATABASE_URL: database.url },
    });
    await running.output(/tick: placed 1 job/);
    while ((await database.sql('SELECT FROM signals')).length === 0) await new Promise(setImmediate);
    running.process.kill('SIGTERM');
    expect((await running.finished).code).toBe(0);
    expect(await database.sql('SELECT status, job_type FROM sync_jobs')).toEqual([
      { status: 'succeeded', job_type: 'incremental' },
    ]);
  });

  it('docs: .ci/run runs the README test command, then the long tests at full size', () => {
    const commands = read('.ci/run')
      .split('\n')
      .filter((line) => line && !/^(#|set |cd )/.test(line));
    expect(commands).toEqual(['npm ci && npm test', 'npm run verify']);
    expect(read('README.md')).toContain('\nnpm ci && npm test\n');
  });

  it('docs: every proof listed in guarantees.md is a test of that name', () => {
    const proofs = [
      ...read('docs/guarantees.md').matchAll(/^- \[(?<name>.+)\]\(\.\.\/(?<path>test\/\S+\.ts)\)$/gm),
    ];
    expect(proofs.length).toBeGreaterThan(10);
    const missing = proofs.filter(
      ({ groups }) => !read(groups?.['path'] as string).includes(groups?.['name'] as string),
    );
    expect(missing.map(([line]) => line)).toEqual([]);
  });
});
