import { integer } from '../setting.ts';

export const retention = {
  endedJobsDays: integer({
    env: 'SYNCLINE_RETENTION_ENDED_JOBS_DAYS',
    default: 7,
    min: 1,
    max: 3650,
    unit: 'days',
    about: 'How long ended jobs are kept. More history costs disk and vacuum time, not scheduling time.',
  }),
  eventsDays: integer({
    env: 'SYNCLINE_RETENTION_EVENTS_DAYS',
    default: 365,
    min: 1,
    max: 3650,
    unit: 'days',
    about: 'How long audit events are kept.',
  }),
  signalsDays: integer({
    env: 'SYNCLINE_RETENTION_SIGNALS_DAYS',
    default: 0,
    min: 0,
    max: 36_500,
    unit: 'days',
    about: 'How long signals are kept and can be read from the feed. 0: forever.',
  }),
  statsDays: integer({
    env: 'SYNCLINE_RETENTION_STATS_DAYS',
    default: 8,
    min: 1,
    max: 3650,
    unit: 'days',
    about: 'How long statistics are kept: per minute for a day, then per hour. The dashboard shows a week.',
  }),
};
