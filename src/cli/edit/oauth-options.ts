import type { JsonObject } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import { type Input, type Option, readNumber } from '../command.ts';
import { askHidden, canAsk } from '../input/ask.ts';

/** The options of `heddle add` for servers that require a sign-in. */
export const OAUTH_OPTIONS: Readonly<Record<string, Option>> = {
  'client-id': { type: 'string', value: 'ID', help: 'OAuth client registered for this server' },
  'client-secret': {
    type: 'boolean',
    help: 'The client has a secret: asks for it without showing it, or reads MCP_CLIENT_SECRET',
  },
  'callback-port': { type: 'string', value: 'PORT', help: 'Port of the redirect that the client is registered with' },
  'oauth-scope': { type: 'string', value: 'SCOPE', multiple: true, help: 'Scope to request; may be repeated' },
  'headers-helper': { type: 'string', value: 'COMMAND', help: 'Command that prints the headers as JSON' },
};

const MAX_PORT = 65_535;
/** Stands for the secret in the entry of `--dry-run`, which asks for nothing. */
const UNASKED = 'not-asked';

/** Returns the fields `oauth` and `headersHelper` of the options; undefined if none of them was given. */
export async function oauthFieldsOf(input: Input): Promise<JsonObject | undefined> {
  const [clientId, helper] = [input.text('client-id'), input.text('headers-helper')];
  const callbackPort = readPort(input);
  const scopes = input.texts('oauth-scope').flatMap((scope) => scope.split(/\s+/).filter(Boolean));
  const hasSecret = input.flag('client-secret');
  if (hasSecret && clientId === undefined) {
    throw new HeddleError('USAGE_INVALID', '--client-secret needs --client-id: a secret belongs to one client.');
  }
  const oauth = {
    ...(clientId !== undefined && { clientId }),
    ...(hasSecret && { clientSecret: await readSecret(input) }),
    ...(callbackPort !== undefined && { callbackPort }),
    ...(scopes.length > 0 && { scopes }),
  };
  const hasOauth = Object.keys(oauth).length > 0;
  if (hasOauth && helper !== undefined) {
    throw new HeddleError('USAGE_INVALID', '--headers-helper and the options of OAuth exclude each other.', {
      fix: 'Leave one of them out: a server has one credential.',
    });
  }
  if (helper !== undefined) return { headersHelper: helper };
  return hasOauth ? { oauth } : undefined;
}

function readPort(input: Input): number | undefined {
  const port = readNumber('callback-port', input.text('callback-port'), MAX_PORT);
  if (port !== 0) return port;
  throw new HeddleError('USAGE_INVALID', `--callback-port has to be a whole number from 1 to ${MAX_PORT}.`);
}

/** Reads the secret from `MCP_CLIENT_SECRET`, else from a hidden prompt. It is not accepted as an argument. */
async function readSecret(input: Input): Promise<string> {
  const given = process.env.MCP_CLIENT_SECRET;
  if (given) return given;
  if (input.flag('dry-run')) return UNASKED;
  const typed = canAsk() ? await askHidden('Client secret:') : '';
  if (typed !== '') return typed;
  throw new HeddleError('USAGE_INVALID', 'There is no client secret: nothing was typed.', {
    fix: 'Run it on a terminal and type the secret, or set MCP_CLIENT_SECRET.',
  });
}
