import type { Command } from 'commander';
import { connectionJson } from '../api/index.ts';
import type { AuditNote } from '../caller/audit.ts';
import { connectionLines } from './connection-lines.ts';
import { type CommonOptions, withEngine } from './engine.ts';
import { doerOf, jsonObject, withDoer } from './options.ts';
import { answer } from './output.ts';

interface ConfigOptions extends CommonOptions, AuditNote {
  configJson: string;
}

export function addConnectionsConfig(group: Command): void {
  const command = group
    .command('config')
    .description("replace what a connection's connector is told, from its next run on")
    .argument('<id>', 'the id of the connection')
    .requiredOption('--config-json <json>', 'all of it: a JSON object');
  withDoer(command)
    .addHelpText(
      'after',
      `
A connector in the configuration file checks it first. The cursor stays as it is.

Examples:
  $ syncline connections config 0190f5e2-7c1a-7000-8000-5f1e0c3a9b42 --config-json '{"repositories":["acme/app","acme/site"]}'`,
    )
    .action(async (id: string, options: ConfigOptions) => {
      const config = jsonObject('--config-json', options.configJson);
      const connection = await withEngine(options, ({ connections }) =>
        connections.setConfig(id, config, doerOf(options)),
      );
      answer(options.json, connectionJson(connection), () => [
        'Changed; its next run is told so.',
        ...connectionLines(connection),
      ]);
    });
}
