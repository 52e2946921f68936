import { serverAndView, viewUri } from '../../core/text/view-uri.ts';
import { ownUri } from './own-uri.ts';

/** The `ui://` URIs and templates that a server lists, or that its tools name. */
export interface ViewSource {
  readonly server: string;
  readonly views: Iterable<string>;
}

/** The names under which clients see `ui://` URIs. */
export interface ViewNames {
  /** Identifies the URIs that are named apart. */
  readonly key: string;
  /** Returns the name of a `ui://` URI of a server, or of a link that the server sends. */
  nameOf(server: string, uri: string): string;
  /** Splits a URI that begins with the name of a server, as if it were a name of that server's URI. */
  split(name: string): { readonly server: string; readonly uri: string } | undefined;
}

/**
 * Names the `ui://` URIs of all servers. One of several servers becomes `ui://<server>/…`, and so does one that begins
 * with the name of another server, or that equals such a name. All others keep theirs.
 */
export function nameViews(sources: Iterable<ViewSource>, isServer: (name: string) => boolean): ViewNames {
  const owners = new Map<string, Set<string>>();
  for (const { server, views } of sources) {
    for (const uri of views) owners.set(uri, (owners.get(uri) ?? new Set()).add(server));
  }
  const split: ViewNames['split'] = (name) => {
    const found = serverAndView(name);
    return found && isServer(found.server) ? found : undefined;
  };
  const belongsToOther = (server: string, uri: string) => (split(uri)?.server ?? server) !== server;

  const apart = new Set<string>();
  function nameApart(uri: string, servers: ReadonlySet<string>): void {
    const waiting = [{ uri, servers }];
    for (let one = waiting.pop(); one; one = waiting.pop()) {
      if (apart.has(one.uri)) continue;
      apart.add(one.uri);
      for (const server of one.servers) {
        const name = viewUri(server, one.uri);
        const known = owners.get(name);
        if (known) waiting.push({ uri: name, servers: known });
      }
    }
  }
  for (const [uri, servers] of owners) {
    if (servers.size > 1 || [...servers].some((server) => belongsToOther(server, uri))) nameApart(uri, servers);
  }

  /** Tests whether a URI that the server does not list is the name of one that it lists. */
  function isNameOfOwn(server: string, uri: string): boolean {
    const own = split(uri);
    return own?.server === server && owners.get(own.uri)?.has(server) === true && apart.has(own.uri);
  }

  return {
    key: JSON.stringify([...apart].sort()),
    split,
    nameOf(server, uri) {
      const known = owners.get(uri);
      if (known?.has(server)) return apart.has(uri) ? viewUri(server, uri) : uri;
      if (!known && !belongsToOther(server, uri) && !isNameOfOwn(server, uri)) return uri;
      const name = viewUri(server, uri);
      return owners.has(name) ? ownUri(server, uri) : name;
    },
  };
}

export const NO_VIEWS: ViewNames = nameViews([], () => false);
