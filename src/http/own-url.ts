import type { Context } from 'hono';
import type { Config } from '../config/settings.ts';
import type { HttpEnv } from './context.ts';
import { isLoopback } from './hosts.ts';
import { Problem } from './problem.ts';

/**
 * Where browsers reach this service, without a slash at the end: `server.publicUrl`. Without it only a service that is
 * called on this machine knows: the name must be a loopback one, and the port is that of the socket. Any other Host header
 * could be made up by the caller, and people would be sent there.
 */
export function ownUrl(c: Context<HttpEnv>, { publicUrl }: Config['server']): string {
  if (publicUrl !== undefined) return publicUrl.replace(/\/+$/, '');
  const { localAddress = '', localPort } = c.env?.incoming?.socket ?? {};
  const address = localAddress.replace(/^::ffff:/, '');
  const name =
    c.req
      .header('host')
      ?.toLowerCase()
      .replace(/:\d+$/, '')
      .replace(/^\[(.*)\]$/, '$1') ?? '';
  if (!isLoopback(address) || !isLoopback(name))
    throw new Problem(
      'CONFLICT',
      'server.publicUrl must be set: the service does not know its own address.',
      {
        hint: 'Set SYNCLINE_SERVER_PUBLIC_URL to the URL at which browsers reach it, such as https://sync.example.com.',
      },
    );
  const host = name === 'localhost' ? name : address;
  return `http://${host.includes(':') ? `[${host}]` : host}:${localPort}${c.get('base')}`;
}
