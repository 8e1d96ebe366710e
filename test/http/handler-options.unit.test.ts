import { describe, expect, it } from 'vitest';
import { describeError } from '../../src/contract/errors.ts';
import { checkHandlerOptions } from '../../src/http/handler-options.ts';
import { createRouteHandlers } from '../../src/next.ts';

const syncline = { as: () => {}, access: {} };

function refusal(options: unknown, instance: unknown = syncline): string {
  try {
    checkHandlerOptions(instance, options);
    return '';
  } catch (error) {
    return describeError(error);
  }
}

describe('handler options', () => {
  it.each(['/', '/admin/sync', '/admin/sync/', '/orgs/a%20b/~x'])(
    'handler options: basePath may be %s',
    (basePath) => {
      expect(refusal({ basePath })).toBe('');
    },
  );

  it.each([
    [
      { basePath: 'admin/sync' },
      'basePath must be a path such as "/admin/sync", got "admin/sync". Use "/admin/sync".',
    ],
    [
      { basePath: 'https://app.example/tools' },
      'basePath must be a path such as "/admin/sync", got "https://app.example/tools". Use its path: "/tools".',
    ],
    [{ basePath: '/a/../b' }, 'basePath must be a path such as "/admin/sync", got "/a/../b".'],
    [
      { basePath: '//other.example' },
      'basePath must be a path such as "/admin/sync", got "//other.example".',
    ],
    [{ basePath: '/a"><script>' }, 'basePath must be a path such as "/admin/sync", got "/a\\"><script>".'],
    [{ basePath: 7 }, 'basePath must be a path such as "/admin/sync", got 7.'],
    [{ dashboard: 'no' }, 'dashboard must be true or false, got "no".'],
    [
      { authenticate: {} },
      'authenticate must be a function from a Request to a caller or undefined, got [object Object].',
    ],
    [
      { clientAddress: '127.0.0.1' },
      'clientAddress must be a function from a Request to an IP address or undefined, got "127.0.0.1".',
    ],
    [{ signal: 'SIGTERM' }, 'signal must be an AbortSignal, got "SIGTERM".'],
    [{ logger: 'info' }, 'logger must be a pino logger, got "info".'],
    [{ basepath: '/x' }, 'There is no handler option "basepath". Did you mean basePath?'],
    [
      { prefix: '/x' },
      'There is no handler option "prefix". Known: basePath, dashboard, authenticate, clientAddress, signal, logger.',
    ],
    ['/admin', 'options must be an object, got "/admin".'],
  ])('handler options: %j is refused with its field, value and fix', (options, message) => {
    expect(refusal(options)).toBe(message);
  });

  it.each([null, {}, () => syncline])('handler options: requires an instance, not %s', (instance) => {
    expect(refusal({}, instance)).toContain('syncline must be an instance made with createSyncline, got ');
  });

  it('handler options: next requires a function, because its build has no environment', () => {
    expect(() => createRouteHandlers(syncline as never)).toThrow(
      'getSyncline must be a function that returns an instance made with createSyncline, got [object Object].',
    );
  });
});
