/** Of Postgres (pg_hba.conf) and poolers. */
const requiresTls = /no encryption|SSL off|SSL connection is required|connection is insecure/i;
/** Of Node's TLS. */
const unknownCa = /SELF_SIGNED_CERT|UNABLE_TO_(GET|VERIFY)/;

const noRoute =
  'This machine has no route to that address. If the host has only an IPv6 address, use its IPv4 host or pooler.';

/** The fix, if the error does not name it. */
export function connectHint({
  code = '',
  message,
}: {
  code?: string | undefined;
  message: string;
}): string | undefined {
  if (requiresTls.test(message))
    return 'The server requires TLS: add sslmode=verify-full to the database URL.';
  if (message.includes('does not support SSL'))
    return 'The server offers no TLS: enable it there, or remove sslmode from the database URL.';
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID')
    return 'The certificate is for another host name: use that name in the database URL.';
  if (unknownCa.test(code))
    return 'The certificate is not trusted: add sslrootcert=<CA file> to the database URL.';
  if (code === 'ENETUNREACH' || code === 'EAFNOSUPPORT') return noRoute;
  return undefined;
}
