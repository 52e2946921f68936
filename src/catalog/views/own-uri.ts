const OWN = /^heddle:\/\/([^/]+)\/(.+)$/s;

/** Returns a URI or template that names its server, for those that several servers have. */
export const ownUri = (server: string, uri: string): string => `heddle://${server}/${uri}`;

/** Splits a URI of `ownUri` into server and URI; undefined for any other URI. */
export function serverAndUri(text: string): { readonly server: string; readonly uri: string } | undefined {
  const [, server, uri] = OWN.exec(text) ?? [];
  return server !== undefined && uri !== undefined ? { server, uri } : undefined;
}
