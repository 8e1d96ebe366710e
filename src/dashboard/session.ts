import { signal } from '@preact/signals';
import { ApiError, get, onUnauthenticated, send, toProblem } from './api.ts';
import type { Me, Problem } from './types.ts';

export type Session =
  | { state: 'unknown' }
  | { state: 'out' }
  | { state: 'in'; me: Me }
  | { state: 'broken'; problem: Problem };

export const session = signal<Session>({ state: 'unknown' });

onUnauthenticated(() => {
  session.value = { state: 'out' };
});

export async function findSession(): Promise<void> {
  try {
    session.value = { state: 'in', me: await get<Me>('v1/me') };
  } catch (error) {
    if (error instanceof ApiError && error.problem.status === 401) return;
    session.value = { state: 'broken', problem: toProblem(error) };
  }
}

export async function logIn(key: string): Promise<void> {
  session.value = { state: 'in', me: await send<Me>('POST', 'v1/session', { key }) };
}

export async function logOut(): Promise<void> {
  await send('DELETE', 'v1/session');
  session.value = { state: 'out' };
}

export function isOperator(): boolean {
  return session.value.state === 'in' && session.value.me.scope === 'operator';
}
