import { createHash } from 'node:crypto';
import { connectorOfOrigin } from '../../../config/schema/connector-of-origin.ts';
import type { Settings } from '../../../config/schema/schema.ts';
import type { CredentialKind } from '../remembering-credential.ts';

type Connectors = Settings['connectors'];

/** The connectors of the configuration, with their tokens. */
export interface ConnectorTokens {
  current(): Connectors;
  /** Reads the configuration again: a token may come from a variable or a secret that has changed. */
  reread(signal: AbortSignal): Promise<Connectors>;
}

export interface ConnectorTokenOptions {
  readonly server: string;
  readonly url: string;
  readonly tokens: ConnectorTokens;
}

/** The token of the connector with the origin of a `proxy` entry. It is read again once after a 401. */
export function connectorToken({ server, url, tokens }: ConnectorTokenOptions): CredentialKind {
  const name = connectorOfOrigin(tokens.current(), url)?.name ?? new URL(url).origin;
  let token: string | undefined;
  let rereading: Promise<string | undefined> | undefined;

  const find = (connectors: Connectors) => connectorOfOrigin(connectors, url)?.token;
  const current = () => token ?? find(tokens.current());
  const headers = (value = current()) => (value === undefined ? {} : { authorization: `Bearer ${value}` });

  return {
    fix: `Renew the \`token\` of the connector \`${name}\`, which ${server} is reached with.`,
    headersFor: () => headers(),
    async onRefused({ status, sent, isRetry }, signal) {
      if (isRetry || status !== 401) return false;
      if (headers().authorization === sent.authorization) {
        rereading ??= tokens
          .reread(signal)
          .then(find)
          .finally(() => {
            rereading = undefined;
          });
        token = await rereading;
      }
      return true;
    },
    fingerprint: () =>
      createHash('sha256')
        .update(current() ?? '')
        .digest('hex')
        .slice(0, 16),
  };
}
