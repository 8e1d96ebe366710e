import { describe, expect, it } from 'vitest';
import { closingMs } from '../../src/cli/service.ts';
import { configOf, expectAllRoles, expectCommand, readYaml } from './files.ts';

interface ComposeService {
  image: string;
  command?: string[];
  environment?: Record<string, string>;
  depends_on?: Record<string, { condition: string }>;
  healthcheck?: { test?: string[]; disable?: boolean };
  ports?: string[];
  volumes?: string[];
  stop_grace_period?: string;
  read_only?: boolean;
  cap_drop?: string[];
  restart?: string;
}

const [file] = readYaml<{ services: Record<string, ComposeService>; volumes: object }>('compose.yaml');
const { postgres, ...ours } = file?.services ?? {};
const env = {
  POSTGRES_PASSWORD: 'secret',
  SYNCLINE_CREDENTIALS_KEYS: `main:${Buffer.alloc(32).toString('base64')}`,
};

/** `${NAME:?message}`, `${NAME:-default}`. */
const interpolate = (text: string) =>
  text.replace(/\$\{(\w+):([?-])([^}]*)\}/g, (_, name: keyof typeof env, kind, rest) => {
    if (kind === '?') expect(Object.keys(env)).toContain(name);
    return env[name] ?? rest;
  });
const settingsOf = ({ environment = {} }: ComposeService) =>
  configOf(
    Object.fromEntries(Object.entries(environment).map(([name, value]) => [name, interpolate(value)])),
  );

describe('deploy: compose.yaml', () => {
  it('deploy: every service runs a command of the CLI, and together they run all roles', async () => {
    for (const { command = [] } of Object.values(ours)) await expectCommand(command);
    expectAllRoles(Object.values(ours).map(({ command = [] }) => command));
  });

  it('deploy: services use the database of the file, after it is healthy and migrated', () => {
    for (const [name, service] of Object.entries(ours)) {
      const { database } = settingsOf(service);
      const url = new URL(database.url ?? '');
      expect(Object.keys(file?.services ?? {})).toContain(url.hostname);
      expect(postgres?.environment).toMatchObject({
        POSTGRES_USER: url.username,
        POSTGRES_DB: url.pathname.slice(1),
      });
      expect(service.depends_on).toEqual(
        name === 'migrate'
          ? { postgres: { condition: 'service_healthy' } }
          : { migrate: { condition: 'service_completed_successfully' } },
      );
    }
    expect(ours['migrate']?.restart).toBe('no');
    expect(Number(/^postgres:(\d+)/.exec(postgres?.image ?? '')?.[1])).toBeGreaterThanOrEqual(15);
    expect(postgres?.healthcheck?.test?.[1]).toBe('pg_isready');
    expect(Object.keys(file?.volumes ?? {})).toEqual(
      postgres?.volumes?.map((volume) => volume.split(':')[0]),
    );
  });

  it('EXE-10: services have time for the shutdown grace', () => {
    for (const [name, service] of Object.entries(ours).filter(([name]) => name !== 'migrate')) {
      const { shutdownGraceSeconds } = settingsOf(service).executor;
      const seconds = Number(/^(\d+)s$/.exec(service.stop_grace_period ?? '')?.[1]);
      expect({ name, ok: seconds >= shutdownGraceSeconds + closingMs / 1000 }).toEqual({ name, ok: true });
    }
  });

  it('deploy: services run without privileges and publish ports on loopback only', () => {
    for (const { read_only, cap_drop, ports = [] } of Object.values(ours)) {
      expect({ read_only, cap_drop }).toEqual({ read_only: true, cap_drop: ['ALL'] });
      for (const port of ports) expect(port).toBe('127.0.0.1:4400:4400');
    }
    expect(postgres?.ports).toBeUndefined();
  });
});
