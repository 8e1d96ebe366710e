import { flag, host, integer } from '../setting.ts';

export const metrics = {
  host: host({
    env: 'SYNCLINE_METRICS_HOST',
    default: '127.0.0.1',
    about: 'The address /metrics listens on. Loopback unless set, since it names tenants.',
  }),
  port: integer({
    env: 'SYNCLINE_METRICS_PORT',
    default: 9464,
    min: 0,
    max: 65_535,
    about: 'The port of /metrics; 0 picks a free one.',
  }),
  tenantLabel: flag({
    env: 'SYNCLINE_METRICS_TENANT_LABEL',
    default: true,
    about: 'Whether counters carry tenant_id. Turn off with many tenants: each is a time series of its own.',
  }),
};
