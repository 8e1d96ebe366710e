import { expect, it } from 'vitest';
import { connectHint } from '../../src/store/connect-hints.ts';

it.each([
  { error: { code: 'ENETUNREACH', message: 'connect ENETUNREACH' }, hint: /IPv6/ },
  { error: { code: 'XX000', message: 'SSL connection is required' }, hint: /sslmode=verify-full/ },
  {
    error: { code: 'ERR_TLS_CERT_ALTNAME_INVALID', message: "Hostname/IP doesn't match" },
    hint: /another host name/,
  },
  { error: { code: 'SELF_SIGNED_CERT_IN_CHAIN', message: 'self-signed certificate' }, hint: /sslrootcert/ },
])('connect hints: $error.code names what to change', ({ error, hint }) => {
  expect(connectHint(error)).toMatch(hint);
});

it('connect hints: other errors have none', () => {
  expect(connectHint({ code: 'ECONNREFUSED', message: 'connect ECONNREFUSED' })).toBeUndefined();
});
