import {
  CursorExpiredError,
  PermanentError,
  TransientError,
  UnauthorizedError,
} from '../../connector-kit/index.ts';
import { connectorErrorKind, describeError } from '../../contract/errors.ts';

/** `index` is the suggested CREATE INDEX. */
export function errorOf(error: unknown, index?: string): unknown {
  if (connectorErrorKind(error) !== 'transient' || error instanceof TransientError) return error;
  const code = String((error as { code?: unknown }).code ?? '');
  const message = describeError(error);
  const options = { cause: error };
  switch (code) {
    case '28P01':
    case '28000':
      return new UnauthorizedError(`The database rejected the user or password: ${message}`, options);
    case '42501':
      return new PermanentError(
        `${message}. The user needs SELECT on the table and USAGE on its schema.`,
        options,
      );
    case '57014':
      return new TransientError(
        `The statement took too long and was cancelled.${index ? ` Create an index: ${index}` : ''}`,
        options,
      );
    case '3D000':
      return new PermanentError(`${message}. Correct config.database.`, options);
    case '22P02':
    case '22007':
    case '22008':
      return new CursorExpiredError(`The stored position no longer matches the table: ${message}`, options);
  }
  if (lacksTls(error))
    return new PermanentError(`${message}. If that is intended, set config.ssl to "off".`, options);
  if (isCertificateProblem(code))
    return new PermanentError(
      `The server's certificate is not trusted: ${message} Set its CA in config.ca, ` +
        'or set config.ssl to "no-verify".',
      options,
    );
  // Syntax and feature errors repeat.
  if (/^(42|0A)/.test(code)) return new PermanentError(message, options);
  return new TransientError(message, options);
}

/** The next address of the host may work. */
export const isUnreachable = (error: unknown) =>
  /^(ECONN|EHOST|ENET|ETIMEDOUT|EPIPE)/.test(String((error as NodeJS.ErrnoException).code)) ||
  isTimeout(error);

/** The driver's errors differ only in text. */
const isTimeout = (error: unknown) => /timeout/i.test(String((error as Error).message));
const lacksTls = (error: unknown) => String((error as Error).message).includes('does not support SSL');

const isCertificateProblem = (code: string) =>
  /^(ERR_TLS_|CERT_|SELF_SIGNED|DEPTH_ZERO|UNABLE_TO_(GET|VERIFY)|ERR_SSL_)/.test(code);
