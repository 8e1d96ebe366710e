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
import type { ConditionDescription, ErrorDescription } from './description.ts';
import { pathOf, valueAt } from './paths.ts';

type Test = (value: unknown) => boolean;

export function testOf(condition: Omit<ConditionDescription, 'path'> & { path: string }): Test {
  const path = pathOf(condition.path);
  const accepted = condition.in ?? (condition.equals === undefined ? undefined : [condition.equals]);
  return (value) => {
    const found = valueAt(value, path);
    const isPresent = found !== undefined && found !== null;
    if (condition.exists !== undefined && condition.exists !== isPresent) return false;
    return accepted === undefined || accepted.some((expected) => expected === (found ?? null));
  };
}

/** A rule declares the response an empty page; no retry. */
export class EmptyPage extends PermanentError {}

const defaultWaitSeconds = 60;

export function refusalsOf(
  rules: readonly ErrorDescription[],
  now: () => number,
): (answer: ReceivedAnswer) => Error | undefined {
  const compiled = rules.map((rule) => ({
    rule,
    statuses: rule.status === undefined ? undefined : [rule.status].flat(),
    test: rule.path === undefined ? undefined : testOf({ ...rule, path: rule.path }),
  }));
  return (answer) => {
    const candidates = compiled.filter(({ statuses }) => !statuses || statuses.includes(answer.status));
    if (candidates.length === 0) return undefined;
    const body = jsonOf(answer.body);
    const found = candidates.find(({ test }) => !test || (body !== undefined && test(body)));
    return found && errorOf(found.rule, answer, body, now());
  };
}

function errorOf(
  { means, retryAfter }: ErrorDescription,
  answer: ReceivedAnswer,
  body: unknown,
  nowMs: number,
): Error {
  const summary = `${answer.request} returned ${answer.status}${excerpt(answer.body)}`;
  switch (means) {
    case 'cursor_expired':
      return new CursorExpiredError(`The provider no longer accepts the cursor: ${summary}`);
    case 'unauthorized':
      return new UnauthorizedError(`The provider rejected the credential: ${summary}`);
    case 'transient':
      return new TransientError(summary);
    case 'permanent':
      return new PermanentError(summary);
    case 'nothing':
      return new EmptyPage(summary);
    case 'rate_limited': {
      const seconds = waitOf(
        answer,
        retryAfter === undefined ? undefined : valueAt(body, pathOf(retryAfter)),
        nowMs,
      );
      return new RateLimitedError({
        retryAfterSeconds: seconds,
        message: `${summary} Retry after ${Math.ceil(seconds)} s.`,
      });
    }
  }
}

function waitOf({ headers }: ReceivedAnswer, inBody: unknown, nowMs: number): number {
  const text = typeof inBody === 'string' || typeof inBody === 'number' ? String(inBody) : null;
  return (
    secondsUntil(text, serverTimeMs(headers, nowMs)) ??
    retryAfterSeconds(headers, nowMs) ??
    defaultWaitSeconds
  );
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
