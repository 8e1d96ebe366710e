import type { Command } from 'commander';
import { type AuditNote, connectionJson } from '../index.ts';
import { connectionLines } from './connection-lines.ts';
import { type CommonOptions, withEngine } from './engine.ts';
import { auditNoteOf, jsonObject, withAuditNote } from './options.ts';
import { printResult } from './output.ts';

interface ConfigOptions extends CommonOptions, AuditNote {
  configJson: string;
}

export function addConnectionsConfig(group: Command): void {
  const command = group
    .command('config')
    .description('replace the configuration of a connection; its next run uses it')
    .argument('<id>', 'connection ID')
    .requiredOption('--config-json <json>', 'complete connector configuration, as a JSON object');
  withAuditNote(command)
    .addHelpText(
      'after',
      `
If the configuration file lists the connector, the connector validates the new value. The cursor does not
change.

Examples:
  $ syncline connections config 0190f5e2-7c1a-7000-8000-5f1e0c3a9b42 \\
      --config-json '{"repositories":["acme/app","acme/site"]}'`,
    )
    .action(async (id: string, options: ConfigOptions) => {
      const config = jsonObject('--config-json', options.configJson);
      const connection = await withEngine(options, ({ connections }) =>
        connections.setConfig(id, config, auditNoteOf(options)),
      );
      printResult(options.json, connectionJson(connection), () => [
        'Configuration changed; it applies from the next run.',
        ...connectionLines(connection),
      ]);
    });
}
