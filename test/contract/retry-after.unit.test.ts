import { expect, it } from 'vitest';
import { unreadableHint } from '../../src/contract/retry-after.ts';

it('hiding: an unreadable retryAfterSeconds is redacted before it is truncated', () => {
  const secret = 'sk-0123456789';
  const redact = (text: string) => text.replaceAll(secret, '[hidden]');
  const warning = unreadableHint(`${'x'.repeat(195)}${secret}`, redact);
  expect(warning).toContain('is ignored');
  expect(warning).not.toContain('sk-');
});
