import { z } from 'zod';
import { host, integer, listFromText, setting } from '../setting.ts';

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
        'Where browsers and providers reach the service. Providers send people who gave their consent back to it; unless set, to the host that was asked.',
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
    default: 100,
    min: 1,
    max: 10_000,
    unit: 'requests',
    about:
      'Requests answered at once; more are told to come back. Too high: they wait for database connections instead. Live streams and long polls have as many places of their own.',
  }),
};
