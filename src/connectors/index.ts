/** Entry point of `syncline/connectors`. */
export { type GithubOptions, github } from './github/index.ts';
export { type GoogleCalendarOptions, googleCalendar } from './google-calendar/index.ts';
export { type HttpConnectorOptions, type HttpDescription, http, httpFromYaml } from './http/index.ts';
export { type PostgresOptions, postgres } from './postgres/postgres.ts';
export { type RssOptions, rss } from './rss/index.ts';
export { type RecordMap, type SingerOptions, type StreamChoice, singer } from './singer/singer.ts';
export { type SlackOptions, slack } from './slack/index.ts';
