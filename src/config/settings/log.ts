import { choice } from '../setting.ts';

export const log = {
  level: choice({
    env: 'SYNCLINE_LOG_LEVEL',
    default: 'info',
    of: ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'],
    about: 'The least severe log line that is written. debug shows every placed job.',
  }),
};
