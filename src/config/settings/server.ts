import { z } from 'zod';
import { choice, host, integer, listFromText, setting } from '../setting.ts';
import { isNetwork } from '../trusted-proxies.ts';

export const server = {
  host: host({
    env: 'SYNCLINE_SERVER_HOST',
    default: '127.0.0.1',
    about:
      'The address that the API and the dashboard listen on. Loopback unless set; put a proxy that speaks TLS in front of anything else.',
  }),
  port: integer({
    env: 'SYNCLINE_SERVER_PORT',
    default: 4400,
    min: 0,
    max: 65_535,
    about: 'The port of the API and the dashboard; 0 picks a free one.',
  }),
  hosts: setting<readonly string[]>(
    {
      env: 'SYNCLINE_SERVER_HOSTS',
      default: [],
      about:
        'Host names under which the service may be called, besides the one it listens on. Others are refused, so that no web page can reach it through a name of its own.',
    },
    {
      schema: z.array(z.string().min(1).max(255)).max(100),
      allowed: 'a list of host names, in the environment separated by commas',
      fromText: listFromText,
    },
  ),
  publicUrl: setting<string | undefined>(
    {
      env: 'SYNCLINE_SERVER_PUBLIC_URL',
      default: undefined,
      about:
        'Where browsers and providers reach the service. Links for consent lead to it, and providers send people back to it. Needed for consent unless the service is called at a loopback address.',
    },
    {
      schema: z
        .string()
        .refine((url) => /^https?:\/\/[^/?#@]+[^?#@]*$/.test(url) && URL.canParse(url))
        .optional(),
      allowed: 'a URL such as https://sync.example.com, without query',
      fromText: (text) => text.trim(),
    },
  ),
  returnOrigins: setting<readonly string[]>(
    {
      env: 'SYNCLINE_SERVER_RETURN_ORIGINS',
      default: [],
      about:
        'Origins of your product to which people may be sent back after they gave a provider their consent, besides that of the service itself. Others are refused, so that nobody can be led astray.',
    },
    {
      schema: z
        .array(z.string().refine((text) => URL.canParse(text) && new URL(text).origin === text))
        .max(100),
      allowed: 'a list of origins such as https://app.example.com, in the environment separated by commas',
      fromText: listFromText,
    },
  ),
  maxConcurrentRequests: integer({
    env: 'SYNCLINE_SERVER_MAX_CONCURRENT_REQUESTS',
    default: 200,
    min: 1,
    max: 10_000,
    unit: 'requests',
    about:
      'Requests answered in parallel. A caller (tenant, operator key or session) may have as many as are free, so one alone gets half; beyond that it gets 429, and 503 when none is free. Too high: more memory, and requests wait longer for database connections. Half as many live streams and long polls may be open besides.',
  }),
  maxRequestsPerAddress: integer({
    env: 'SYNCLINE_SERVER_MAX_REQUESTS_PER_ADDRESS',
    default: 100,
    min: 1,
    max: 10_000,
    unit: 'requests',
    about:
      'Requests without a key (sign-in, consent, pages) of one client address in parallel, and bodies that one address or caller is still sending; more get 429. Behind a proxy, set server.trustedProxies: otherwise all clients have the address of the proxy.',
  }),
  trustedProxies: setting<readonly string[]>(
    {
      env: 'SYNCLINE_SERVER_TRUSTED_PROXIES',
      default: [],
      about:
        'Proxies whose forwarding header is believed. The client address is the last one in the header that is not in this list. Empty: the address of the socket counts, and headers are ignored.',
    },
    {
      schema: z.array(z.string().refine(isNetwork)).max(100),
      allowed: 'a list of addresses or ranges such as 10.0.0.0/8, in the environment separated by commas',
      fromText: listFromText,
    },
  ),
  forwardedHeader: choice({
    env: 'SYNCLINE_SERVER_FORWARDED_HEADER',
    default: 'x-forwarded-for',
    of: ['x-forwarded-for', 'forwarded'],
    about:
      'The header in which the trusted proxies write the client address: the one that they set or append to on every request, since clients can send the other one themselves.',
  }),
  maxLoopDelayMs: integer({
    env: 'SYNCLINE_SERVER_MAX_LOOP_DELAY_MS',
    default: 500,
    min: 10,
    max: 60_000,
    unit: 'milliseconds',
    about:
      'How late the event loop of the process may be, in five samples in a row, before requests get 503, so that syncing in the same process goes on. Probes and deliveries are never refused for it. Too low: requests are refused in short bursts. Too high: runs start late under load.',
  }),
};
