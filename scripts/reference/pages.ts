import { readFileSync } from 'node:fs';
import { cliSections } from './cli.ts';
import { configurationTable } from './configuration.ts';
import { errorsTable } from './errors.ts';
import { httpFields } from './http-fields.ts';
import { fill } from './markdown.ts';
import { metricsTable } from './metrics.ts';

/** By page, the name of its generated part and what the code says. */
const generated: Record<string, [name: string, text: () => string | Promise<string>]> = {
  'docs/connectors/http.md': ['fields', httpFields],
  'docs/reference/cli.md': ['commands', cliSections],
  'docs/reference/configuration.md': ['settings', configurationTable],
  'docs/reference/errors.md': ['codes', errorsTable],
  'docs/reference/metrics.md': ['metrics', metricsTable],
};

export interface GeneratedPage {
  path: string;
  url: URL;
  current: string;
  generated: string;
}

/** The pages whose tables come from the code, as they are and as they should be. */
export function generatedPages(): Promise<GeneratedPage[]> {
  return Promise.all(
    Object.entries(generated).map(async ([path, [name, text]]) => {
      const url = new URL(`../../${path}`, import.meta.url);
      const current = readFileSync(url, 'utf8');
      return { path, url, current, generated: fill(current, name, await text()) };
    }),
  );
}
