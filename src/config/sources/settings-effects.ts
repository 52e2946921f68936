import type { Json, JsonObject } from '../../core/call.ts';
import { isObject } from '../../core/json.ts';
import { readDatabaseUrl } from '../../core/text/database-url.ts';
import { REDACTED } from '../../core/text/redact-text.ts';
import { quoteCommand } from '../../core/text/visible-text.ts';
import type { LayerSetting } from '../read/layer.ts';

/** A setting as its file has it, before variables are expanded. */
export interface WrittenSetting {
  readonly path: LayerSetting['path'];
  readonly written: Json;
}

const CREDENTIALS = ['url', 'username', 'password'];

/** Hides the credentials of database connections; the effects of the settings name their address. All else is shown. */
export function withoutCredentials({ path, written }: WrittenSetting): Json {
  if (!isConnections(path) || !Array.isArray(written)) return written;
  return written.map((connection) => {
    const hidden = isObject(connection) ? CREDENTIALS.filter((key) => connection[key] !== undefined) : [];
    return isObject(connection)
      ? { ...connection, ...Object.fromEntries(hidden.map((key) => [key, REDACTED])) }
      : connection;
  });
}

const isConnections = (path: LayerSetting['path']) => path.join('.') === 'builtins.database.connections';

/** Names the commands and addresses of hooks: they run on this machine, or get the arguments of calls. */
export function hookRuns(settings: readonly WrittenSetting[]): string {
  const hooks = settings
    .filter(({ path }) => path[0] === 'hooks')
    .flatMap(({ written }) => written as readonly JsonObject[]);
  const effects = hooks.map(({ command, url }) =>
    Array.isArray(command) ? `run ${quoteCommand(command.map(String))}` : `send calls to ${originOf(url)}`,
  );
  return effects.length === 0 ? '' : `, ${effects.join(', ')}`;
}

/** Names the databases that the settings would connect to. Each may get a credential of the user. */
export function connectionsIn(settings: readonly WrittenSetting[]): string {
  const connections = settings
    .filter(({ path }) => isConnections(path))
    .flatMap(({ written }) => (Array.isArray(written) ? written.filter(isObject) : []));
  const opened = connections.map((connection) => {
    const [name, type] = [connection.name, connection.type].map((text) => quoteCommand([String(text)]));
    return `open the database ${name} (${type} at ${placeOf(connection)}${sentTo(connection)})`;
  });
  return opened.length === 0 ? '' : `, ${opened.join(', ')}`;
}

/** Returns the host and port, or the file, that a connection would open: the drivers get no other address. */
function placeOf({ type, url, host, port, database }: JsonObject): string {
  if (type === 'sqlite') return quoteCommand([String(database)]);
  // A variable may hold the end of the host, so that only the whole text says where it leads.
  if (typeof url === 'string' && url.includes('${')) return quoteCommand([withoutLiteralPassword(url)]);
  const read = typeof url === 'string' ? readDatabaseUrl(url) : { address: { host, port } };
  if ('problem' in read) return 'an address that is invalid';
  const { address } = read;
  const shown = quoteCommand([String(address.host)]);
  return address.port === undefined ? shown : `${shown}:${String(address.port)}`;
}

const REFERENCES = /\$\{[^}]*\}/g;

/** Hides a password that is written in a URL. References stay: they are no secrets, and may hold a host. */
function withoutLiteralPassword(url: string): string {
  const references = url.match(REFERENCES) ?? [];
  const [scheme = '', rest = ''] = url.replace(REFERENCES, '\0').split(/(?<=:\/\/)(.*)/s);
  const hidden = rest.replace(/:([^/?#]*)@/, (_whole, password: string) => {
    const shown = password.replace(/[^\0]+/g, REDACTED);
    return `:${shown}@`;
  });
  let at = 0;
  return (scheme + hidden).replaceAll('\0', () => references[at++] ?? '');
}

/** Names the variables and secrets that a connection would send, without their defaults. */
function sentTo({ username, password }: JsonObject): string {
  const sent = [username, password].flatMap((text) => String(text ?? '').match(REFERENCES) ?? []);
  const names = sent.map((reference) => quoteCommand([reference.replace(/:-.*\}$/s, '}')]));
  return names.length === 0 ? '' : `, sends ${names.join(' and ')}`;
}

const originOf = (url: Json | undefined): string =>
  URL.canParse(String(url)) ? new URL(String(url)).origin : String(url);
