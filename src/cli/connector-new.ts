import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { type Command, Option } from 'commander';
import { invalidArgument } from '../contract/errors.ts';
import { invalid, show } from '../values/arguments.ts';
import { type ConnectorKind, connectorKinds, type NewConnector, templateOf } from './connector-templates.ts';
import { printResult } from './output.ts';
import { pathOf, terminal } from './terminal.ts';

interface NewOptions {
  dir: string;
  kind: ConnectorKind;
  yaml?: boolean;
  json?: boolean;
}

export function addConnectorNew(group: Command): void {
  group
    .command('new')
    .argument('<name>', 'provider slug, such as tracker')
    .description('create a small connector and its test')
    .option('--dir <folder>', 'output directory', '.')
    .addOption(
      new Option('--kind <kind>', 'http: a JSON API; code: any source; yaml: a JSON API, without code')
        .choices(connectorKinds)
        .default('http'),
    )
    .addOption(new Option('--yaml', 'same as --kind yaml').conflicts('kind'))
    .addHelpText(
      'after',
      `
Examples:
  $ syncline connector new tracker
  $ syncline connector new tracker --yaml
  $ syncline connector new ledger --kind code --dir connectors`,
    )
    .action((name: string, { yaml, dir, json, ...options }: NewOptions) => {
      const kind = yaml ? 'yaml' : options.kind;
      const files = write(namesOf(name), dir, kind);
      printResult(json, { files }, () => nextSteps(files, kind));
    });
}

function namesOf(slug: string): Omit<NewConnector, 'folder'> {
  if (!/^[a-z][a-z0-9]*(-[a-z0-9]+)*$/.test(slug) || slug.length > 50)
    throw invalidArgument({
      field: '<name>',
      expected: 'a slug of at most 50 characters, such as tracker or issue-tracker',
      value: show(slug),
      hint: 'Use lowercase letters, digits and hyphens, starting with a letter.',
    });
  const words = slug.split('-');
  const capital = (word: string) => word.slice(0, 1).toUpperCase() + word.slice(1);
  return {
    slug,
    title: words.map(capital).join(' '),
    variable: words.map((word, i) => (i === 0 ? word : capital(word))).join(''),
  };
}

function write(names: Omit<NewConnector, 'folder'>, dir: string, kind: ConnectorKind): string[] {
  const { connector, test } = templateOf(kind, { ...names, folder: fromCwd(dir) || '.' });
  const files = {
    [join(dir, `${names.slug}.${kind === 'yaml' ? 'yaml' : 'ts'}`)]: connector,
    [join(dir, `${names.slug}.test.ts`)]: test,
  };
  const existing = Object.keys(files).find((file) => existsSync(pathOf(file)));
  if (existing)
    throw invalid(
      `${existing} already exists and is not overwritten.`,
      'Remove it, or choose another name or --dir.',
    );
  mkdirSync(pathOf(dir), { recursive: true });
  for (const [file, text] of Object.entries(files)) writeFileSync(pathOf(file), text, { flag: 'wx' });
  return Object.keys(files);
}

const fromCwd = (path: string) => relative(terminal().cwd, resolve(terminal().cwd, path));

const exampleConfig: Record<ConnectorKind, string> = {
  http: '{"baseUrl":"https://…","project":"…"}',
  code: '{"first":1}',
  yaml: '{"project":"…"}',
};

function nextSteps([connector = '', test = '']: string[], kind: ConnectorKind): string[] {
  const path = `./${fromCwd(connector)}`;
  const config = `--config '${exampleConfig[kind]}'`;
  return [
    `Wrote ${connector} and ${test}.`,
    '',
    'Next:',
    `  npx vitest run ${test}${' '.repeat(3)}run its test`,
    `  npx syncline connector run ${path} ${config}`,
    `  npx syncline connector test ${path} ${config} --chaos`,
    '',
    kind === 'yaml'
      ? 'Dependencies: npm install syncline && npm install --save-dev vitest'
      : 'Dependencies: npm install syncline zod && npm install --save-dev vitest',
  ];
}
