import { afterEach } from 'vitest';
import { cleanups } from './cleanup.ts';

afterEach(async () => {
  for (const cleanup of cleanups) await cleanup();
});
