import type { Command } from 'commander';
import { type AuditNote, type Deletion, deletionJson } from '../index.ts';
import { systemPorts } from '../platform/ports.ts';
import { type CommonOptions, withEngine } from './engine.ts';
import { auditNoteOf, withAuditNote } from './options.ts';
import { count, note, printResult } from './output.ts';
import { abortOnShutdownSignal } from './shutdown-signal.ts';

const pollMs = 500;
const progressIntervalMs = 2000;

export function addConnectionsDelete(group: Command): void {
  const command = group
    .command('delete')
    .description(
      'delete a connection, its jobs and signals, and its credential if no other connection uses it',
    )
    .argument('<id>', 'connection ID')
    .option('--no-wait', 'return immediately; a process with the janitor role completes a large deletion');
  withAuditNote(command)
    .addHelpText(
      'after',
      `
Ctrl-C ends the wait; a process with the janitor role continues the deletion.

Examples:
  $ syncline connections delete 0190f5e2-7c1a-7000-8000-5f1e0c3a9b42 --reason "customer left"
  $ syncline connections delete 0190f5e2-7c1a-7000-8000-5f1e0c3a9b42 --no-wait --json`,
    )
    .action(async (id: string, options: CommonOptions & AuditNote & { wait: boolean }) => {
      const deletion = await withEngine(options, async ({ connections }) => {
        const started = await connections.delete(id, auditNoteOf(options));
        return options.wait ? waitUntilDeleted(started, connections.deletion) : started;
      });
      printResult(options.json, deletionJson(deletion), () => [sentence(deletion)]);
    });
}

async function waitUntilDeleted(
  started: Deletion,
  get: (id: string) => Promise<Deletion>,
): Promise<Deletion> {
  if (started.state === 'deleted') return started;
  const stopping = abortOnShutdownSignal();
  let deletion = started;
  let notedMs = Number.NEGATIVE_INFINITY;
  while (deletion.state === 'deleting' && !stopping.aborted) {
    if (systemPorts.monotonicMs() - notedMs >= progressIntervalMs) {
      note(`… ${progress(deletion)}`);
      notedMs = systemPorts.monotonicMs();
    }
    await systemPorts.sleep(pollMs, stopping);
    deletion = await get(started.connectionId);
  }
  return deletion;
}

function sentence(deletion: Deletion): string {
  const { connectionId } = deletion;
  if (deletion.state === 'deleted') return `Connection ${connectionId} is deleted.`;
  return (
    `Connection ${connectionId} is being deleted: ${progress(deletion)}. ` +
    'Running processes with the janitor role finish it in the background.'
  );
}

function progress({ deletedSignals, estimatedSignals, error }: Deletion): string {
  const failure = error === undefined ? '' : ` (last batch failed: ${error})`;
  const deleted = deletedSignals.toLocaleString('en');
  return `${deleted} of about ${count(estimatedSignals, 'signal')} deleted${failure}`;
}
