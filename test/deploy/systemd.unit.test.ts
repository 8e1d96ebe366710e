import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { closingMs, serviceRoles } from '../../src/cli/service.ts';
import { configOf, expectAllRoles, expectCommand, isInstalled, readDeployed, root } from './files.ts';

const { bin } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { bin: { syncline: string } };
const node = '/usr/bin/node';
const program = `${node} /opt/syncline/node_modules/syncline/${bin.syncline} `;

const units = readdirSync(join(root, 'deploy/systemd')).filter((file) => /\.(service|timer)$/.test(file));
const services = units.filter((file) => file.endsWith('.service'));
const valuesOf = (unit: string, key: string) =>
  [...readDeployed(`systemd/${unit}`).matchAll(new RegExp(`^${key}=(.*)$`, 'gm'))].map(
    ([, value]) => value ?? '',
  );
const commandsOf = (unit: string) =>
  valuesOf(unit, 'ExecStart').flatMap((line) => {
    expect(line.startsWith(program)).toBe(true);
    const command = line.slice(program.length);
    const instances = command.includes('%i') ? serviceRoles : [''];
    return instances.map((role) => command.replace('%i', role).split(' '));
  });

const environment = Object.fromEntries(
  readDeployed('systemd/syncline.env.example')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
);

describe('deploy: the systemd units', () => {
  it('deploy: every unit runs commands of the CLI, and the template runs every role', async () => {
    for (const unit of services) for (const command of commandsOf(unit)) await expectCommand(command);
    expectAllRoles(commandsOf('syncline@.service'));
    expect(commandsOf('syncline-drain.service')).toEqual([['tick'], ['work', '--drain']]);
  });

  it('deploy: the example environment contains settings with allowed values', () => {
    expect(configOf(environment).server.trustedProxies).toEqual(['127.0.0.1']);
  });

  it('EXE-10: units that run jobs have time for the shutdown grace, and signal only the main process', () => {
    const { shutdownGraceSeconds } = configOf(environment).executor;
    for (const unit of services.filter((file) => file !== 'syncline-migrate.service')) {
      expect(Number(valuesOf(unit, 'TimeoutStopSec')[0])).toBeGreaterThanOrEqual(
        shutdownGraceSeconds + closingMs / 1000,
      );
      expect(valuesOf(unit, 'KillSignal')).toEqual(['SIGTERM']);
      expect(valuesOf(unit, 'KillMode')).toEqual(['mixed']);
    }
  });

  it('deploy: units run as an unprivileged user in a sandbox that the JIT compiler of V8 accepts', () => {
    for (const unit of services) {
      for (const [key, value] of Object.entries({
        User: 'syncline',
        NoNewPrivileges: 'yes',
        ProtectSystem: 'strict',
      }))
        expect(valuesOf(unit, key)).toEqual([value]);
      expect(valuesOf(unit, 'MemoryDenyWriteExecute')).toEqual([]);
    }
  });

  it.skipIf(!isInstalled('systemd-analyze', '--version'))(
    'deploy: systemd-analyze verifies the units',
    () => {
      const folder = mkdtempSync(join(tmpdir(), 'syncline-units-'));
      try {
        for (const unit of units) {
          // It checks that the program exists.
          const text = readDeployed(`systemd/${unit}`).replaceAll(node, process.execPath);
          writeFileSync(join(folder, unit), text);
        }
        const verified = units.map((unit) => join(folder, unit.replace('@.', '@executor.')));
        // Unknown keys and values are warnings, with exit code 0.
        const { status, stdout, stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', ...verified], {
          encoding: 'utf8',
        });
        expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: '', stderr: '' });
      } finally {
        rmSync(folder, { recursive: true, force: true });
      }
    },
  );
});
