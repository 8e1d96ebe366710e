import { flag, host, integer } from '../setting.ts';

export const metrics = {
  host: host({
    env: 'SYNCLINE_METRICS_HOST',
    default: '127.0.0.1',
    about: 'Address that /metrics listens on. It names tenants: do not expose it.',
  }),
  port: integer({
    env: 'SYNCLINE_METRICS_PORT',
    default: 9464,
    min: 0,
    max: 65_535,
    about: 'Port of /metrics; 0 picks a free one.',
  }),
  tenantLabel: flag({
    env: 'SYNCLINE_METRICS_TENANT_LABEL',
    default: true,
    about:
      'Whether counters have a tenant_id label. With many tenants, turn it off: each tenant adds time series.',
  }),
};
