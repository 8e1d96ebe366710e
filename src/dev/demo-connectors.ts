import type { Connector } from '../connector.ts';
import { databaseConnector } from './connectors/database.ts';
import { githubConnector } from './connectors/github.ts';
import { googleCalendarConnector } from './connectors/google-calendar.ts';
import { slackConnector } from './connectors/slack.ts';

/** One for each provider that `provider-server.ts` plays, written as they would be for the real ones. */
export function demoConnectors(serverUrl: string): Connector[] {
  return [githubConnector, slackConnector, googleCalendarConnector, databaseConnector].map((connector) =>
    connector(serverUrl),
  );
}
