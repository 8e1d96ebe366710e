/** Writes the parts of docs/ that come from the code. Usage: npm run docs:generate */
import { writeFileSync } from 'node:fs';
import { generatedPages } from './pages.ts';

for (const { path, url, current, generated } of await generatedPages()) {
  if (generated === current) continue;
  writeFileSync(url, generated);
  console.log(`wrote ${path}`);
}
