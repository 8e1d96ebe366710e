import { readFileSync } from 'node:fs';
import { distance } from 'fastest-levenshtein';
import { describeError, PermanentError, SynclineError } from '../contract/errors.ts';
import { createHider, recordedRequest } from './hide.ts';
import {
  type AskedRequest,
  askedRequest,
  type Exchange,
  type RecordedRequest,
  responseOf,
} from './traffic.ts';

export interface ReplayOptions {
  /** A request that comes more often than it was recorded gets its last answer again; unless given it is refused. */
  repeat?: boolean | undefined;
  /** Values that were hidden by `secrets` of the recording, or what stands for them now. */
  secrets?: readonly string[] | undefined;
}

/** A fetch that answers from a recording, and never asks anybody else. */
export interface Replay {
  (...request: Parameters<typeof fetch>): Promise<Response>;
  /** What was recorded and has not been asked for, such as `GET https://…`. */
  unused(): string[];
  /** Starts from the beginning. */
  reset(): void;
}

/** How many recorded requests are named beside one that was not recorded. */
const maxNamed = 3;

/**
 * Requests are matched by method, address and body, without what is secret; what was asked several times is answered in
 * the order of the recording.
 */
export function replayTraffic(file: string, { repeat = false, secrets = [] }: ReplayOptions = {}): Replay {
  const exchanges = readExchanges(file).map((exchange) => ({
    exchange,
    identity: identityOf(exchange.request),
    isUsed: false,
  }));

  const replay = async (...request: Parameters<typeof fetch>): Promise<Response> => {
    const identity = identityOf(hiddenRequest(await askedRequest(...request), secrets));
    const same = exchanges.filter((one) => one.identity === identity);
    const match = same.find((one) => !one.isUsed) ?? (repeat ? same.at(-1) : undefined);
    if (!match)
      throw unexpected(
        file,
        identity,
        same.length,
        exchanges.map((one) => one.identity),
      );
    match.isUsed = true;
    const { response, error } = match.exchange;
    if (!response)
      throw new TypeError('fetch failed', { cause: new Error(error ?? 'no answer was recorded') });
    return responseOf(response);
  };
  return Object.assign(replay, {
    unused: () => exchanges.filter((one) => !one.isUsed).map(({ identity }) => identity),
    reset: () => {
      for (const one of exchanges) one.isUsed = false;
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
        hint: 'Make one with recordTraffic, or with `syncline connector run --record`.',
      },
    );
  }
}

function exchangeOf(line: string, at: string): Exchange {
  try {
    const exchange = JSON.parse(line) as Exchange;
    if (URL.canParse(exchange.request.url) && (exchange.response || exchange.error)) return exchange;
  } catch {
    // Said below.
  }
  throw new SynclineError('INVALID_ARGUMENT', `${at} is no recorded exchange.`, {
    hint: 'Each line is JSON such as {"request":{"method":"GET","url":"https://…","headers":{}},"response":{"status":200,"headers":{},"json":[]}}.',
  });
}

/** As it would have been recorded. */
function hiddenRequest(asked: AskedRequest, secrets: readonly string[]): RecordedRequest {
  const hider = createHider(secrets);
  hider.learn(asked);
  return recordedRequest(asked, hider);
}

/** What two requests have in common that are the same, but for their secrets. */
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

/** Permanent: the recording will not have it the next time either. */
function unexpected(file: string, asked: string, recorded: number, all: string[]): PermanentError {
  if (recorded > 0)
    return new PermanentError(
      `${short(asked)} was asked for more often than it is recorded in ${file}, which is ${recorded} times.`,
    );
  const nearest = [...new Set(all)]
    .sort((a, b) => distance(a, asked) - distance(b, asked))
    .slice(0, maxNamed)
    .map(short);
  const known = nearest.length === 0 ? 'It is empty.' : `The nearest there: ${nearest.join(' · ')}`;
  return new PermanentError(`${short(asked)} is not recorded in ${file}. ${known}`);
}

const short = (text: string) => (text.length > 300 ? `${text.slice(0, 300)}…` : text);
