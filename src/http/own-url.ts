import type { Context } from 'hono';
import type { Config } from '../config/settings.ts';
import type { HttpEnv } from './context.ts';
import { isLoopback } from './hosts.ts';
import { Problem } from './problem.ts';

/** Without `publicUrl`, loopback only: a forged Host would redirect users. */
export function ownUrl(c: Context<HttpEnv>, { publicUrl }: Config['server']): string {
  if (publicUrl !== undefined) return publicUrl.replace(/\/+$/, '');
  const { localAddress = '', localPort } = c.env?.socket ?? {};
  const address = localAddress.replace(/^::ffff:/, '');
  const name =
    c.req
      .header('host')
      ?.toLowerCase()
      .replace(/:\d+$/, '')
      .replace(/^\[(.*)\]$/, '$1') ?? '';
  if (!isLoopback(address) || !isLoopback(name))
    throw new Problem('CONFLICT', 'server.publicUrl must be set: the public URL of the service is unknown.', {
      hint: 'Set SYNCLINE_SERVER_PUBLIC_URL to the URL that browsers use, such as https://sync.example.com.',
    });
  const host = name === 'localhost' ? name : address;
  return `http://${host.includes(':') ? `[${host}]` : host}:${localPort}${c.get('base')}`;
}
