import { choice } from '../setting.ts';

export const log = {
  level: choice({
    env: 'SYNCLINE_LOG_LEVEL',
    default: 'info',
    of: ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'],
    about: 'Minimum log level. debug logs every queued job.',
  }),
};
