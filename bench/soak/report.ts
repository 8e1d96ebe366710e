/** Writes `docs/soak.md` again, from what was measured. */
import { writePage } from './write-page.ts';

writePage();
console.log('docs/soak.md');
