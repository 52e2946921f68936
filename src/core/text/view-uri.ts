const SCHEME = 'ui://';
const NAMED = /^ui:\/\/([^/]*)\/(.*)$/s;

/** Tests whether a URI is that of a view of MCP Apps. */
export const isViewUri = (uri: string): boolean => uri.startsWith(SCHEME);

/** Returns the `ui://` URI that names its server, for views that several servers have. */
export const viewUri = (server: string, uri: string): string => `${SCHEME}${server}/${uri.slice(SCHEME.length)}`;

/** Splits a URI of `viewUri`. Any other `ui://` URI with a slash looks like one, so check that the server exists. */
export function serverAndView(text: string): { readonly server: string; readonly uri: string } | undefined {
  const [, server, rest] = isViewUri(text) ? (NAMED.exec(text) ?? []) : [];
  return server !== undefined && rest !== undefined ? { server, uri: `${SCHEME}${rest}` } : undefined;
}
