import pg from 'pg';
import { maskUrl } from '../config/mask-url.ts';
import { SynclineError } from '../contract/errors.ts';
import { connectHint } from './connect-hints.ts';

/** SQLSTATEs: no connection available. */
const unreachable = /^(08|53300|57P0[1-5])/;
/** Also full disk, read-only server, conflicts, timeouts. */
const transient = /^(08|53|57P0[1-5]|57014|40001|40P01|55P03|25006)/;

/** Errors not from Postgres come from the connection or are bugs. */
export function isTransient(error: unknown): boolean {
  if (error instanceof SynclineError)
    return error.code === 'DATABASE_UNREACHABLE' || error.code === 'OVERLOADED';
  if (error instanceof pg.DatabaseError) return transient.test(error.code ?? '');
  return error instanceof Error && !isMissingPassword(error) && isConnectionError(error);
}

/** Login, database, schema, privileges, missing objects. */
const permanent = /^(28|3D|3F|42)/;

export function isPermanent(error: unknown): boolean {
  if (error instanceof pg.DatabaseError) return permanent.test(error.code ?? '');
  return error instanceof Error && isMissingPassword(error);
}

/** Other statements will fail too. */
export function isUnreachable(error: unknown): boolean {
  return error instanceof pg.DatabaseError ? unreachable.test(error.code ?? '') : isTransient(error);
}

/** Rolled back, safe to retry. */
export function isConflict(error: unknown): boolean {
  return error instanceof pg.DatabaseError && (error.code === '40001' || error.code === '40P01');
}

export function isLockTimeout(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.code === '55P03';
}

/** By statement_timeout or pg_cancel_backend. */
export function isCancelled(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.code === '57014';
}

/** Values, constraints, program limits, triggers. */
const dataErrors = /^(0A|21|22|23|54|P0)/;
/** Independent of the statement: server, login, pooler, other transactions. */
const serverErrors = /^(0[38]|25|28|3D|40|42501|53[134]|55P03|57P|58|F0|HV|XX)/;

/** By SQLSTATE or on every retry; or the driver cannot serialize the data. */
export function isRejection(error: unknown, isRepeated: boolean): boolean {
  if (error instanceof TypeError || error instanceof RangeError) return isRepeated;
  if (!(error instanceof pg.DatabaseError)) return false;
  const code = error.code ?? '';
  return dataErrors.test(code) || (isRepeated && !serverErrors.test(code));
}

export function violatedConstraint(error: unknown): string | undefined {
  return error instanceof pg.DatabaseError ? error.constraint : undefined;
}

/** Names server, cause and fix; never a password. */
export function explainDatabaseError(error: unknown, url: string | undefined): unknown {
  if (error instanceof SynclineError || !(error instanceof Error)) return error;
  const where = `Postgres at ${serverOf(url)}`;
  const hint = connectHint(error);
  const isRefused = error instanceof pg.DatabaseError && (/^28/.test(error.code ?? '') || hint !== undefined);
  if (isMissingPassword(error) || isRefused) {
    return refusedError(
      `${where} refused the login of user "${userOf(url)}".`,
      error,
      hint ?? loginHint(url),
    );
  }
  if (error instanceof pg.DatabaseError) {
    if (error.code === '3D000') {
      return refusedError(
        `${where} has no database "${databaseOf(url)}".`,
        error,
        'Create it, or correct the database URL.',
      );
    }
    if (error.code === '42501') {
      return refusedError(
        `${where} denied access: ${error.message}.`,
        error,
        `Grant the privilege to user "${userOf(url)}", or connect as another user.`,
      );
    }
  }
  if (isUnreachable(error)) {
    return new SynclineError('DATABASE_UNREACHABLE', `${where} cannot be reached (${reasonOf(error)}).`, {
      hint: connectHint(error) ?? 'Check that the server is running and that the database URL is correct.',
      cause: error,
    });
  }
  if (isTransient(error)) {
    return refusedError(
      `${where} temporarily rejected the statement: ${error.message}.`,
      error,
      'Retry. If this persists, check for a full disk, a read-only server or a long-held lock.',
    );
  }
  return error;
}

function refusedError(message: string, cause: Error, hint: string): SynclineError {
  return new SynclineError('DATABASE_REFUSED', message, { hint, cause });
}

/** pg's own ("Connection terminated", "timeout expired") have no code. */
function isConnectionError(error: Error): boolean {
  return (
    (error as NodeJS.ErrnoException).code !== undefined || Object.getPrototypeOf(error) === Error.prototype
  );
}

/** pg's error for a missing password has no code. */
function isMissingPassword(error: Error): boolean {
  return error.message.startsWith('SASL');
}

function reasonOf(error: Error): string {
  return (error as NodeJS.ErrnoException).code ?? error.message;
}

function parseUrl(url: string | undefined): URL | undefined {
  return url !== undefined && URL.canParse(url) ? new URL(url) : undefined;
}

function serverOf(url: string | undefined): string {
  const { hostname, port } = parseUrl(url) ?? {};
  return hostname ? `${decodeURIComponent(hostname)}:${port || 5432}` : maskUrl(url);
}

/** As the driver chooses. */
function userOf(url: string | undefined): string {
  return decodeURIComponent(parseUrl(url)?.username ?? '') || pg.defaults.user || '';
}

function loginHint(url: string | undefined): string {
  return parseUrl(url)?.username === ''
    ? 'The database URL names no user: write postgres://user:password@host:5432/database.'
    : 'Check the user and password in the database URL.';
}

function databaseOf(url: string | undefined): string {
  return decodeURIComponent(parseUrl(url)?.pathname.slice(1) ?? '');
}
