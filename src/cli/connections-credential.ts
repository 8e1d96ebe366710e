import type { Command } from 'commander';
import { connectionJson } from '../api/index.ts';
import type { AuditNote } from '../caller/audit.ts';
import { invalid, requireUuid } from '../values/arguments.ts';
import { type CommonOptions, withEngine } from './engine.ts';
import { doerOf, withDoer } from './options.ts';
import { answer } from './output.ts';

interface CredentialOptions extends CommonOptions, AuditNote {
  remove?: boolean;
}

export function addConnectionsCredential(group: Command): void {
  const command = group
    .command('credential')
    .description('give a connection a credential; one that needed it runs again')
    .argument('<id>', 'the id of the connection')
    .argument('[credential]', 'the id of the credential, as `credentials list` shows it')
    .option('--remove', 'take the credential away; it stays stored');
  withDoer(command)
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
          'A credential is either given or taken away.',
          'Give the id of a credential, or --remove.',
        );
      if (credential !== undefined) requireUuid('[credential]', credential);
      const { connection, why } = await withEngine(options, async ({ connections }) => ({
        connection: await connections.setCredential(id, credential ?? null, doerOf(options)),
        why: await connections.explain(id),
      }));
      const has =
        credential === undefined ? 'has no credential any more' : `has the credential ${credential}`;
      answer(options.json, connectionJson(connection), () => [`Connection ${id} ${has}. ${why.sentence}`]);
    });
}
