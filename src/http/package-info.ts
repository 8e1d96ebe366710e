import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Works from both src and dist. */

export const dashboardFolder = fileURLToPath(new URL('../../dist/dashboard', import.meta.url));

export function ownVersion(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}
