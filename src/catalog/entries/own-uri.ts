const OWN = /^heddle:\/\/([^/]+)\/(.+)$/s;

/** A URI, or a template, that names its server, too: what several servers have is told apart by it. */
export const ownUri = (server: string, uri: string): string => `heddle://${server}/${uri}`;

/** What such a URI was made of; undefined for any other. */
export function serverAndUri(text: string): { readonly server: string; readonly uri: string } | undefined {
  const [, server, uri] = OWN.exec(text) ?? [];
  return server !== undefined && uri !== undefined ? { server, uri } : undefined;
}
