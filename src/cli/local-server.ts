import { SynclineError } from '../contract/errors.ts';
import { systemPorts } from '../platform/ports.ts';
import { startTimer } from '../platform/timer.ts';
import { findServers, type ServerFile } from './server-file.ts';
import { terminal } from './terminal.ts';

export interface LoginLink {
  url: string;
  expiresInSeconds: number;
}

const timeoutMs = 10_000;

export async function requestLoginLink(): Promise<LoginLink> {
  for (const server of findServers(terminal().cwd)) {
    const response = await issueToken(server).catch(() => undefined);
    if (response?.status !== 201) continue;
    const { token, expires_in_seconds } = (await response.json()) as {
      token: string;
      expires_in_seconds: number;
    };
    return { url: loginUrl(server.url, token), expiresInSeconds: expires_in_seconds };
  }
  throw new SynclineError('NOT_FOUND', 'No Syncline server is running in this directory.', {
    hint:
      'Start one with `syncline dev` or `syncline start`, or run this command in the directory where ' +
      'the server was started, as the same user.',
  });
}

function issueToken({ url, secret }: ServerFile): Promise<Response> {
  const headers = { authorization: `Bearer ${secret}` };
  return request(new URL('/login/tokens', url), { method: 'POST', headers });
}

/** A suspended process accepts connections without responding. */
async function request(url: URL, init: RequestInit): Promise<Response> {
  const timeout = new AbortController();
  const cancel = startTimer(systemPorts, timeoutMs, () => timeout.abort());
  try {
    return await systemPorts.fetch(url, { ...init, signal: timeout.signal });
  } finally {
    cancel();
  }
}

export const loginUrl = (server: string, token: string) => `${server}/login?token=${token}`;

export function localUrl(url: string): string {
  return url.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:');
}

/** In a session that ends with the request. */
export async function callLocally(path: string, method: string, body: object): Promise<Response> {
  const link = new URL((await requestLoginLink()).url);
  const login = await request(link, { redirect: 'manual' });
  const cookie = login.headers.get('set-cookie')?.split(';')[0] ?? '';
  const headers = { cookie, 'x-syncline-request': '1', 'content-type': 'application/json' };
  const call = (to: string, init: RequestInit) => request(new URL(to, link), { headers, ...init });
  try {
    return await call(path, { method, body: JSON.stringify(body) });
  } finally {
    await call('/v1/session', { method: 'DELETE' }).catch(() => {});
  }
}
