import type { Settings } from './schema.ts';

type Connector = Settings['connectors'][number];

/** Returns the connector whose address has the same origin as a URL. Its token is sent to no other origin. */
export function connectorOfOrigin(connectors: readonly Connector[], url: string): Connector | undefined {
  const { origin } = new URL(url);
  return connectors.find((connector) => new URL(connector.url).origin === origin);
}
