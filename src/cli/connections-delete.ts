import type { Command } from 'commander';
import { deletionJson } from '../api/index.ts';
import type { AuditNote } from '../caller/audit.ts';
import { systemPorts } from '../platform/ports.ts';
import type { Deletion } from '../runtime/index.ts';
import { type CommonOptions, withEngine } from './engine.ts';
import { doerOf, withDoer } from './options.ts';
import { answer, count, note } from './output.ts';
import { abortOnShutdownSignal } from './shutdown-signal.ts';

const pollMs = 500;
const notedEveryMs = 2000;

export function addConnectionsDelete(group: Command): void {
  const command = group
    .command('delete')
    .description('delete a connection with its jobs, its signals and the credential that only it uses')
    .argument('<id>', 'the id of the connection')
    .option('--no-wait', 'do not wait for a large deletion: running Syncline processes finish it');
  withDoer(command)
    .addHelpText(
      'after',
      `
Ctrl-C stops waiting, not the deletion: running processes with the janitor role continue it.

Examples:
  $ syncline connections delete 0190f5e2-7c1a-7000-8000-5f1e0c3a9b42 --reason "the customer left"
  $ syncline connections delete 0190f5e2-7c1a-7000-8000-5f1e0c3a9b42 --no-wait --json`,
    )
    .action(async (id: string, options: CommonOptions & AuditNote & { wait: boolean }) => {
      const deletion = await withEngine(options, async ({ connections }) => {
        const begun = await connections.remove(id, doerOf(options));
        return options.wait ? finished(begun, connections.deletion) : begun;
      });
      answer(options.json, deletionJson(deletion), () => [sentence(deletion)]);
    });
}

/** Waits until the deletion is finished, or until a signal ends the process, and shows its progress. */
async function finished(begun: Deletion, look: (id: string) => Promise<Deletion>): Promise<Deletion> {
  if (begun.state === 'deleted') return begun;
  const stopping = abortOnShutdownSignal();
  let deletion = begun;
  let notedMs = Number.NEGATIVE_INFINITY;
  while (deletion.state === 'deleting' && !stopping.aborted) {
    if (systemPorts.monotonicMs() - notedMs >= notedEveryMs) {
      note(`… ${progress(deletion)}`);
      notedMs = systemPorts.monotonicMs();
    }
    await systemPorts.sleep(pollMs, stopping);
    deletion = await look(begun.connectionId);
  }
  return deletion;
}

function sentence(deletion: Deletion): string {
  const { connectionId } = deletion;
  if (deletion.state === 'deleted') return `Connection ${connectionId} is deleted.`;
  return `Connection ${connectionId} is being deleted: ${progress(deletion)}. Running processes with the janitor role finish it in the background.`;
}

function progress({ deletedSignals, estimatedSignals, error }: Deletion): string {
  const failure = error === undefined ? '' : ` (last batch failed: ${error})`;
  return `${deletedSignals.toLocaleString('en')} of about ${count(estimatedSignals, 'signal')} deleted${failure}`;
}
