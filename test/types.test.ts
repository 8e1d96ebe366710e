import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { useProject } from './support/package.ts';
import { startProcess } from './support/process.ts';

const project = useProject('packed');

const program = `
import { createSyncline, defineConfig } from 'syncline';
import { type Connector, createHttp, defineConnector, type SyncContext } from 'syncline/connector';
import * as connectors from 'syncline/connectors';
import { synclineHandler } from 'syncline/hono';
import { connectInMemory, type CrashReport, crashTest, formatCrashReport, type Replay, recordTraffic, replayTraffic } from 'syncline/testing';
import { z } from 'zod';

const typed = defineConnector({
  provider: 'typed',
  name: 'Typed',
  configSchema: z.object({ project: z.string() }),
  cursorSchema: z.object({ after: z.number() }),
  sync: async (context) => {
    const project: string = context.connection.config.project;
    const after: number | undefined = context.cursor?.after;
    const { data } = await createHttp(context, { baseUrl: project }).get('/', { schema: z.object({ n: z.number() }) });
    return { signals: [], nextCursor: { after: (after ?? 0) + data.n } };
  },
});
const isConnector: Connector = typed;
const replay: Replay = replayTraffic('file');
const report: Promise<CrashReport> = crashTest(() => typed, { fetch: replay, reset: replay.reset });
const status: 'active' | 'needs_auth' = connectInMemory(typed, { fetch: recordTraffic('file') }).status;
export const used = [isConnector, report.then(formatCrashReport), status, connectors, createSyncline, defineConfig, synclineHandler];
export type Context = SyncContext;

// @ts-expect-error: the cursor does not match its schema
defineConnector({ provider: 'p', name: 'P', cursorSchema: z.object({ after: z.number() }), sync: async () => ({ signals: [], nextCursor: { after: 'x' } }) });
// @ts-expect-error: unknown option
void crashTest(typed, { expects: 7 });
`;

describe('the published package', () => {
  it('types: every entry point resolves in a strict nodenext program', async () => {
    writeFileSync(join(project.folder, 'package.json'), '{"name":"consumer","type":"module","private":true}');
    writeFileSync(
      join(project.folder, 'tsconfig.json'),
      JSON.stringify({
        compilerOptions: {
          strict: true,
          exactOptionalPropertyTypes: true,
          module: 'nodenext',
          moduleResolution: 'nodenext',
          target: 'es2023',
          types: ['node'],
          skipLibCheck: true,
          noEmit: true,
        },
        files: ['program.ts'],
      }),
    );
    writeFileSync(join(project.folder, 'program.ts'), program);
    const checked = await startProcess('npx', ['tsc', '-p', '.'], {
      cwd: project.folder,
      env: { PATH: project.path() },
    }).finished;
    expect(checked).toMatchObject({ code: 0, stdout: '' });
  });
});
