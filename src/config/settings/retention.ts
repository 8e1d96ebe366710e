import { integer } from '../setting.ts';

export const retention = {
  endedJobsDays: integer({
    env: 'SYNCLINE_RETENTION_ENDED_JOBS_DAYS',
    default: 7,
    min: 1,
    max: 3650,
    unit: 'days',
    about: 'How long ended jobs are kept. Longer history costs disk and vacuum time, never scheduling time.',
  }),
  eventsDays: integer({
    env: 'SYNCLINE_RETENTION_EVENTS_DAYS',
    default: 365,
    min: 1,
    max: 3650,
    unit: 'days',
    about: 'How long it is kept who changed what, and why.',
  }),
  signalsDays: integer({
    env: 'SYNCLINE_RETENTION_SIGNALS_DAYS',
    default: 0,
    min: 0,
    max: 36_500,
    unit: 'days',
    about:
      'How long signals are kept, and the feed with them. 0 keeps them: they are your data, and yours to delete.',
  }),
  statsDays: integer({
    env: 'SYNCLINE_RETENTION_STATS_DAYS',
    default: 8,
    min: 1,
    max: 3650,
    unit: 'days',
    about: 'How long counts are kept: by the minute for a day, then by the hour. The dashboard shows a week.',
  }),
};
