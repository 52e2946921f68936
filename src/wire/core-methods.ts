// Compared in lower case, since a lenient server could accept another spelling.
const CORE: ReadonlySet<string> = new Set([
  ...['initialize', 'ping', 'server/discover', 'logging/setlevel', 'completion/complete'],
  ...['tools/list', 'tools/call', 'prompts/list', 'prompts/get'],
  ...['resources/list', 'resources/templates/list', 'resources/read', 'resources/subscribe', 'resources/unsubscribe'],
  ...['resources/directory/read', 'subscriptions/listen'],
  ...['sampling/createmessage', 'elicitation/create', 'roots/list'],
]);
const CORE_PREFIXES = ['notifications/', 'tasks/', 'skills/', 'rpc.'];

/**
 * Returns true for a request or notification of any MCP version, of tasks or of skills, and for the methods that JSON-RPC
 * reserves. Heddle handles them itself, so they never pass as methods of an extension.
 */
export function isCoreMethod(method: string): boolean {
  const name = method.toLowerCase();
  return CORE.has(name) || CORE_PREFIXES.some((prefix) => name.startsWith(prefix));
}
