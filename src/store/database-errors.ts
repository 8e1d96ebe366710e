import pg from 'pg';
import { maskUrl } from '../config/mask-url.ts';
import { SynclineError } from '../contract/errors.ts';

/** SQLSTATEs that mean: no connection to be had, now. */
const unreachable = /^(08|53300|57P0[1-5])/;
/** SQLSTATEs after which the same work may succeed: also lack of room, a read-only server, lost races. */
const passing = /^(08|53|57P0[1-5]|57014|40001|40P01|55P03|25006)/;

/** Whether trying again later can help. What is not Postgres's own word comes from the connection to it, or is a bug. */
export function isPassing(error: unknown): boolean {
  if (error instanceof SynclineError) return error.code === 'DATABASE_UNREACHABLE';
  if (error instanceof pg.DatabaseError) return passing.test(error.code ?? '');
  return error instanceof Error && !isMissingPassword(error) && isConnectionError(error);
}

/** SQLSTATEs that stay until an operator acts: login, database, schema, privileges, tables, columns, functions. */
const permanent = /^(28|3D|3F|42)/;

/** Whether trying again cannot help, whatever the data. */
export function isPermanent(error: unknown): boolean {
  if (error instanceof pg.DatabaseError) return permanent.test(error.code ?? '');
  return error instanceof Error && isMissingPassword(error);
}

/** Whether the connection is what failed: whatever else is asked now will fail as well. */
export function isUnreachable(error: unknown): boolean {
  return error instanceof pg.DatabaseError ? unreachable.test(error.code ?? '') : isPassing(error);
}

/** Whether two transactions got in each other's way and this one was sent back: nothing is wrong, run it again. */
export function isLostRace(error: unknown): boolean {
  return error instanceof pg.DatabaseError && (error.code === '40001' || error.code === '40P01');
}

/** Whether somebody else kept a lock for longer than we wait for one. */
export function isLockTimeout(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.code === '55P03';
}

/** SQLSTATEs that speak of the data: values, constraints, limits of the program, a trigger's own words. */
const ofTheData = /^(0A|21|22|23|54|P0)/;
/** SQLSTATEs of a server, a login or a pooler in trouble, or of another transaction, whatever the statement. */
const ofTheServer = /^(0[38]|25|28|3D|40|42501|53[134]|55P03|57P|58|F0|HV|XX)/;

/**
 * Whether Postgres refuses what was written: said at once, or (`tried`) after having said the same often. So does what cannot even be
 * sent to it: no wait makes a value of it that can.
 */
export function isRefusal(error: unknown, tried: boolean): boolean {
  if (error instanceof TypeError || error instanceof RangeError) return tried;
  if (!(error instanceof pg.DatabaseError)) return false;
  const code = error.code ?? '';
  return ofTheData.test(code) || (tried && !ofTheServer.test(code));
}

/** The name of the constraint that refused a row, if one did. */
export function violatedConstraint(error: unknown): string | undefined {
  return error instanceof pg.DatabaseError ? error.constraint : undefined;
}

/** What to tell a person: where it happened, what is wrong and what to do; never a password. */
export function explainDatabaseError(error: unknown, url: string | undefined): unknown {
  if (error instanceof SynclineError || !(error instanceof Error)) return error;
  const where = `Postgres at ${serverOf(url)}`;
  if (isMissingPassword(error) || (error instanceof pg.DatabaseError && /^28/.test(error.code ?? ''))) {
    return refused(
      `${where} refused the login of user "${userOf(url)}".`,
      error,
      'Check user and password in SYNCLINE_DATABASE_URL.',
    );
  }
  if (error instanceof pg.DatabaseError) {
    if (error.code === '3D000') {
      return refused(
        `${where} has no database "${databaseOf(url)}".`,
        error,
        'Create it, or correct SYNCLINE_DATABASE_URL.',
      );
    }
    if (error.code === '42501') {
      return refused(
        `${where} refused: ${error.message}.`,
        error,
        `Grant it to user "${userOf(url)}", or use another user.`,
      );
    }
  }
  if (isUnreachable(error)) {
    return new SynclineError('DATABASE_UNREACHABLE', `${where} cannot be reached (${reasonOf(error)}).`, {
      hint: 'Is it running, and is SYNCLINE_DATABASE_URL right?',
      cause: error,
    });
  }
  if (isPassing(error)) {
    return refused(
      `${where} refused for now: ${error.message}.`,
      error,
      'Try again. If it stays so: is it out of room, read-only, or does somebody keep a lock?',
    );
  }
  return error;
}

function refused(message: string, cause: Error, hint: string): SynclineError {
  return new SynclineError('DATABASE_REFUSED', message, { hint, cause });
}

/** A system error has a code; the client's own ("Connection terminated", "timeout expired") are plain Errors without one. */
function isConnectionError(error: Error): boolean {
  return (
    (error as NodeJS.ErrnoException).code !== undefined || Object.getPrototypeOf(error) === Error.prototype
  );
}

/** Thrown by the client, without a code, when the server asks for a password and none was given. */
function isMissingPassword(error: Error): boolean {
  return error.message.startsWith('SASL');
}

function reasonOf(error: Error): string {
  return (error as NodeJS.ErrnoException).code ?? error.message;
}

function parsed(url: string | undefined): URL | undefined {
  return url !== undefined && URL.canParse(url) ? new URL(url) : undefined;
}

function serverOf(url: string | undefined): string {
  const { hostname, port } = parsed(url) ?? {};
  return hostname ? `${decodeURIComponent(hostname)}:${port || 5432}` : maskUrl(url);
}

function userOf(url: string | undefined): string {
  return decodeURIComponent(parsed(url)?.username ?? '');
}

function databaseOf(url: string | undefined): string {
  return decodeURIComponent(parsed(url)?.pathname.slice(1) ?? '');
}
