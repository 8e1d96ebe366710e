import { readFileSync } from 'node:fs';
import { distance } from 'fastest-levenshtein';
import { describeError, PermanentError, SynclineError } from '../contract/errors.ts';
import { createRedactor, recordedRequest } from './redact.ts';
import {
  type CapturedRequest,
  captureRequest,
  type Exchange,
  type RecordedRequest,
  responseOf,
} from './traffic.ts';

export interface ReplayOptions {
  /** Repeat the last response. Default: throw. */
  repeat?: boolean | undefined;
  /** As recorded, or their replacements. */
  secrets?: readonly string[] | undefined;
}

/** A fetch that answers from a recording. */
export interface Replay {
  (...request: Parameters<typeof fetch>): Promise<Response>;
  /** Recorded requests not made yet. */
  unused(): string[];
  /** Requests made that are not recorded, or not as often. */
  unrecorded(): string[];
  reset(): void;
}

const maxNamed = 3;

/** Matches method, URL and body without secrets; repeated requests in recorded order. */
export function replayTraffic(file: string, { repeat = false, secrets = [] }: ReplayOptions = {}): Replay {
  const exchanges = readExchanges(file).map((exchange) => ({
    exchange,
    identity: identityOf(exchange.request),
    isUsed: false,
  }));

  const unrecorded: string[] = [];

  const replay = async (...request: Parameters<typeof fetch>): Promise<Response> => {
    const identity = identityOf(redactedRequest(await captureRequest(...request), secrets));
    const same = exchanges.filter((entry) => entry.identity === identity);
    const match = same.find((entry) => !entry.isUsed) ?? (repeat ? same.at(-1) : undefined);
    if (!match) {
      unrecorded.push(identity);
      throw unmatchedError(
        file,
        identity,
        same.length,
        exchanges.map((entry) => entry.identity),
      );
    }
    match.isUsed = true;
    const { response, error } = match.exchange;
    if (!response)
      throw new TypeError('fetch failed', { cause: new Error(error ?? 'no response was recorded') });
    return responseOf(response);
  };
  return Object.assign(replay, {
    unused: () => exchanges.filter((entry) => !entry.isUsed).map(({ identity }) => identity),
    unrecorded: () => [...unrecorded],
    reset: () => {
      unrecorded.length = 0;
      for (const entry of exchanges) entry.isUsed = false;
    },
  });
}

function readExchanges(file: string): Exchange[] {
  const lines = readText(file)
    .split('\n')
    .map((line, i) => ({ line: line.trim(), at: `line ${i + 1}` }));
  return lines.filter(({ line }) => line !== '').map(({ line, at }) => exchangeOf(line, `${file}, ${at}`));
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new SynclineError(
      'INVALID_ARGUMENT',
      `The recording ${file} cannot be read: ${describeError(error)}.`,
      {
        hint: 'Create one with recordTraffic, or with `syncline connector run --record`.',
      },
    );
  }
}

function exchangeOf(line: string, at: string): Exchange {
  try {
    const exchange = JSON.parse(line) as Exchange;
    if (URL.canParse(exchange.request.url) && (exchange.response || exchange.error)) return exchange;
  } catch {
    // Falls through to the error below.
  }
  throw new SynclineError('INVALID_ARGUMENT', `${at} is not a recorded exchange.`, {
    hint:
      'Each line is JSON such as {"request":{"method":"GET","url":"https://…","headers":{}},' +
      '"response":{"status":200,"headers":{},"json":[]}}.',
  });
}

function redactedRequest(request: CapturedRequest, secrets: readonly string[]): RecordedRequest {
  const redactor = createRedactor(secrets);
  redactor.learn(request);
  return recordedRequest(request, redactor);
}

function identityOf({ method, url, json, text, base64 }: RecordedRequest): string {
  const sorted = new URL(url);
  sorted.searchParams.sort();
  const body = json === undefined ? (text ?? base64) : JSON.stringify(json);
  return [method, decoded(sorted.href), body].filter((part) => part !== undefined).join(' ');
}

function decoded(url: string): string {
  try {
    return decodeURIComponent(url);
  } catch {
    return url;
  }
}

/** A retry would not match either. */
function unmatchedError(file: string, request: string, recorded: number, all: string[]): PermanentError {
  if (recorded > 0)
    return new PermanentError(
      `${truncate(request)} was requested more often than it is recorded in ${file} (${recorded} times).`,
    );
  const nearest = [...new Set(all)]
    .sort((a, b) => distance(a, request) - distance(b, request))
    .slice(0, maxNamed)
    .map(truncate);
  const hint = nearest.length === 0 ? 'The recording is empty.' : `Nearest matches: ${nearest.join(' · ')}`;
  return new PermanentError(`${truncate(request)} is not recorded in ${file}. ${hint}`);
}

const truncate = (text: string) => (text.length > 300 ? `${text.slice(0, 300)}…` : text);
