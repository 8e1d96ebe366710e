import { z } from 'zod';
import { choice, host, integer, listFromText, setting } from '../setting.ts';
import { isNetwork } from '../trusted-proxies.ts';

export const server = {
  host: host({
    env: 'SYNCLINE_SERVER_HOST',
    default: '127.0.0.1',
    about:
      'Address that the API and the dashboard listen on. Put a TLS proxy in front of anything but loopback.',
  }),
  port: integer({
    env: 'SYNCLINE_SERVER_PORT',
    default: 4400,
    min: 0,
    max: 65_535,
    about: 'Port of the API and the dashboard; 0 picks a free one.',
  }),
  hosts: setting<readonly string[]>(
    {
      env: 'SYNCLINE_SERVER_HOSTS',
      default: [],
      about:
        'Accepted Host headers, besides the address that the server listens on. Others are rejected, ' +
        'which prevents DNS rebinding.',
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
        'Public URL of the service, for consent links and OAuth callbacks. Required for consent unless ' +
        'the service is called at a loopback address.',
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
        'Origins of your product that users may be redirected to after consent, besides the origin of ' +
        'the service. Others are rejected, which prevents open redirects.',
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
      'Requests served in parallel. A caller (tenant, operator key or session) can hold at most as many as ' +
      'are free, so a single caller gets half. Further requests get 429, or 503 if none is free. Too ' +
      'high: more memory, and requests wait longer for database connections. Live streams and long polls ' +
      'have a separate limit of half this number.',
  }),
  maxRequestsPerAddress: integer({
    env: 'SYNCLINE_SERVER_MAX_REQUESTS_PER_ADDRESS',
    default: 100,
    min: 1,
    max: 10_000,
    unit: 'requests',
    about:
      'Parallel requests without a key (login, consent, pages) per client address, and request bodies ' +
      'in transit per address or caller; further ones get 429. Behind a proxy, set server.trustedProxies: ' +
      'otherwise all clients have the address of the proxy.',
  }),
  trustedProxies: setting<readonly string[]>(
    {
      env: 'SYNCLINE_SERVER_TRUSTED_PROXIES',
      default: [],
      about:
        'Proxies whose forwarding header is trusted. The client address is the last one in the header ' +
        'that is not in this list. Empty: the socket address is used and headers are ignored.',
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
      'Header in which the trusted proxies write the client address. Choose the one that they set or ' +
      'append to on every request: clients can forge the other one.',
  }),
  maxLoopDelayMs: integer({
    env: 'SYNCLINE_SERVER_MAX_LOOP_DELAY_MS',
    default: 500,
    min: 10,
    max: 60_000,
    unit: 'milliseconds',
    about:
      'Event loop delay, in five consecutive samples, above which requests get 503, so that runs in the ' +
      'same process continue. Probes and deliveries are exempt. Too low: short load peaks cause ' +
      'rejections. Too high: runs start late under load.',
  }),
};
