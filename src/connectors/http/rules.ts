import {
  CursorExpiredError,
  excerpt,
  PermanentError,
  RateLimitedError,
  type ReceivedAnswer,
  retryAfterSeconds,
  secondsUntil,
  serverTimeMs,
  TransientError,
  UnauthorizedError,
} from '../../connector-kit/index.ts';
import { systemPorts } from '../../platform/ports.ts';
import type { ConditionDescription, ErrorDescription } from './description.ts';
import { pathOf, valueAt } from './paths.ts';

type Test = (value: unknown) => boolean;

/** Whether something in a record, or in an answer, is as a condition says. */
export function testOf(condition: Omit<ConditionDescription, 'path'> & { path: string }): Test {
  const path = pathOf(condition.path);
  const among = condition.in ?? (condition.equals === undefined ? undefined : [condition.equals]);
  return (value) => {
    const found = valueAt(value, path);
    const isThere = found !== undefined && found !== null;
    if (condition.exists !== undefined && condition.exists !== isThere) return false;
    return among === undefined || among.some((one) => one === (found ?? null));
  };
}

/** An answer that a rule takes for an empty page. It is no failure, and must not be tried again as one. */
export class NothingThere extends PermanentError {}

/** A provider that limits without saying for how long. */
const unsaidSeconds = 60;

/** What the rules make of an answer; undefined where none applies. */
export function refusalsOf(
  rules: readonly ErrorDescription[],
): (answer: ReceivedAnswer) => Error | undefined {
  const compiled = rules.map((rule) => ({
    rule,
    statuses: rule.status === undefined ? undefined : [rule.status].flat(),
    test: rule.path === undefined ? undefined : testOf({ ...rule, path: rule.path }),
  }));
  return (answer) => {
    const asked = compiled.filter(({ statuses }) => !statuses || statuses.includes(answer.status));
    if (asked.length === 0) return undefined;
    const body = jsonOf(answer.body);
    const found = asked.find(({ test }) => !test || (body !== undefined && test(body)));
    return found && errorOf(found.rule, answer, body);
  };
}

function errorOf({ means, retryAfter }: ErrorDescription, answer: ReceivedAnswer, body: unknown): Error {
  const said = `${answer.request} was answered with ${answer.status}${excerpt(answer.body)}`;
  switch (means) {
    case 'cursor_expired':
      return new CursorExpiredError(`The provider no longer accepts the cursor: ${said}`);
    case 'unauthorized':
      return new UnauthorizedError(`The provider refuses the credential: ${said}`);
    case 'transient':
      return new TransientError(said);
    case 'permanent':
      return new PermanentError(said);
    case 'nothing':
      return new NothingThere(said);
    case 'rate_limited': {
      const seconds = waitOf(
        answer,
        retryAfter === undefined ? undefined : valueAt(body, pathOf(retryAfter)),
      );
      return new RateLimitedError({
        retryAfterSeconds: seconds,
        message: `${said} The provider asks to wait ${Math.ceil(seconds)} s.`,
      });
    }
  }
}

function waitOf({ headers }: ReceivedAnswer, inBody: unknown): number {
  const nowMs = systemPorts.now();
  const text = typeof inBody === 'string' || typeof inBody === 'number' ? String(inBody) : null;
  return (
    secondsUntil(text, serverTimeMs(headers, nowMs)) ?? retryAfterSeconds(headers, nowMs) ?? unsaidSeconds
  );
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
