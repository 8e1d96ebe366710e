import { fraction, integer } from '../setting.ts';

const weekSeconds = 7 * 24 * 3600;

export const scheduler = {
  tickIntervalSeconds: integer({
    env: 'SYNCLINE_SCHEDULER_TICK_INTERVAL_SECONDS',
    default: 60,
    min: 10,
    max: 300,
    unit: 'seconds',
    about:
      'Interval between ticks, and how far ahead a tick looks for due connections. Too low: ' +
      'needless queries. Too high: new connections wait longer.',
  }),
  defaultIntervalSeconds: integer({
    env: 'SYNCLINE_SCHEDULER_DEFAULT_INTERVAL_SECONDS',
    default: 900,
    min: 60,
    max: weekSeconds,
    unit: 'seconds',
    about: 'Interval of connections that set none.',
  }),
  jitterPctMin: fraction({
    env: 'SYNCLINE_SCHEDULER_JITTER_PCT_MIN',
    default: 0,
    about: 'Minimum jitter, as a fraction of the interval.',
  }),
  jitterPctMax: fraction({
    env: 'SYNCLINE_SCHEDULER_JITTER_PCT_MAX',
    default: 0.2,
    about: 'Maximum jitter, as a fraction of the interval. Too low: runs of many connections start together.',
  }),
  maxOverriddenIntervalSeconds: integer({
    env: 'SYNCLINE_SCHEDULER_MAX_OVERRIDDEN_INTERVAL_SECONDS',
    default: 86_400,
    min: 60,
    max: weekSeconds,
    unit: 'seconds',
    about: 'Longest interval that a connection may set.',
  }),
  batchSize: integer({
    env: 'SYNCLINE_SCHEDULER_BATCH_SIZE',
    default: 1000,
    min: 1,
    max: 10_000,
    unit: 'connections',
    about:
      'Connections scheduled per transaction. Too low: more commits. Too high: longer locks and ' +
      'more memory.',
  }),
};
