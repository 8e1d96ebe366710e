import type { Command } from 'commander';
import { type AuditNote, connectionJson } from '../index.ts';
import { invalid, requireUuid } from '../values/arguments.ts';
import { type CommonOptions, withEngine } from './engine.ts';
import { auditNoteOf, withAuditNote } from './options.ts';
import { printResult } from './output.ts';

interface CredentialOptions extends CommonOptions, AuditNote {
  remove?: boolean;
}

export function addConnectionsCredential(group: Command): void {
  const command = group
    .command('credential')
    .description('assign a credential to a connection; a connection in needs_auth becomes active')
    .argument('<id>', 'connection ID')
    .argument('[credential]', 'credential ID, from `credentials list`')
    .option('--remove', 'detach the credential from the connection without deleting it');
  withAuditNote(command)
    .addHelpText(
      'after',
      `
Examples:
  $ syncline connections credential 0190f5e2-7c1a-7000-8000-5f1e0c3a9b42 0190f5e2-7c1a-7000-8000-2b6f1d0e7a11
  $ syncline connections credential 0190f5e2-7c1a-7000-8000-5f1e0c3a9b42 --remove`,
    )
    .action(async (id: string, credential: string | undefined, options: CredentialOptions) => {
      if ((credential === undefined) !== (options.remove === true))
        throw invalid(
          'Exactly one of [credential] and --remove is required.',
          'Pass a credential ID or --remove.',
        );
      if (credential !== undefined) requireUuid('[credential]', credential);
      const { connection, why } = await withEngine(options, async ({ connections }) => ({
        connection: await connections.setCredential(id, credential ?? null, auditNoteOf(options)),
        why: await connections.explain(id),
      }));
      const change =
        credential === undefined ? 'no longer has a credential' : `now uses credential ${credential}`;
      printResult(options.json, connectionJson(connection), () => [
        `Connection ${id} ${change}. ${why.sentence}`,
      ]);
    });
}
