import {
  CursorExpiredError,
  PermanentError,
  TransientError,
  UnauthorizedError,
} from '../../connector-kit/index.ts';
import { connectorErrorKind, describeError } from '../../contract/errors.ts';

/** What the engine understands, for whatever the driver or the server says. `index` is the statement that makes reading quick. */
export function errorOf(error: unknown, index?: string): unknown {
  if (connectorErrorKind(error) !== 'transient' || error instanceof TransientError) return error;
  const code = String((error as { code?: unknown }).code ?? '');
  const said = describeError(error);
  const options = { cause: error };
  switch (code) {
    case '28P01':
    case '28000':
      return new UnauthorizedError(`The database refuses user or password: ${said}`, options);
    case '42501':
      return new PermanentError(
        `${said}. The user needs SELECT on the table and USAGE on its schema.`,
        options,
      );
    case '57014':
      return new TransientError(
        `The statement took too long and was cancelled.${index ? ` An index in the order of the walk makes it quick: ${index}` : ''}`,
        options,
      );
    case '3D000':
      return new PermanentError(`${said}. Correct config.database.`, options);
    // A stored position that the column can no longer be compared with.
    case '22P02':
    case '22007':
    case '22008':
      return new CursorExpiredError(`The stored position does not fit the table any more: ${said}`, options);
  }
  if (said.includes('does not support SSL'))
    return new PermanentError(`${said}. If that is intended, set config.ssl to "off".`, options);
  if (isCertificateProblem(code))
    return new PermanentError(
      `The server's certificate cannot be trusted: ${said} Give its authority's in config.ca, or set config.ssl to "no-verify".`,
      options,
    );
  // Mistakes in what was asked: the same statement fails the next time too.
  if (/^(42|0A)/.test(code)) return new PermanentError(said, options);
  return new TransientError(said, options);
}

const isCertificateProblem = (code: string) =>
  /^(ERR_TLS_|CERT_|SELF_SIGNED|DEPTH_ZERO|UNABLE_TO_(GET|VERIFY)|ERR_SSL_)/.test(code);
