import type { JsonObject } from '../../src/core/call.ts';
import { type GatewayUnderTest, JSON_HEADERS, modern } from '../../src/gateway/fixtures.ts';
import { recordingServer, text } from './recording-server.ts';

export const builtins = { filesystem: { enabled: false } };

/** Returns a function that posts to the endpoint of a profile. */
export function postTo({ send }: GatewayUnderTest, profile: string | undefined, headers: Record<string, string> = {}) {
  const path = profile === undefined ? '/mcp' : `/mcp/${profile}`;
  return (message: JsonObject, more: Readonly<Record<string, string>> = {}) =>
    send({
      path,
      headers: { ...JSON_HEADERS, ...more, ...headers },
      body: JSON.stringify({ jsonrpc: '2.0', ...message }),
    });
}

type Post = ReturnType<typeof postTo>;

/** Returns the tool names that the endpoint lists. */
export async function toolNamesOf(post: Post): Promise<readonly string[]> {
  const { result } = (await post(...modern('tools/list'))).json as { result: { tools: { name: string }[] } };
  return result.tools.map(({ name }) => name);
}

export const call = (post: Post, name: string) => post(...modern('tools/call', { name, arguments: {} }));

export const TOOL_NAMES: Readonly<Record<string, readonly string[]>> = {
  git: ['log', 'push', 'read'],
  files: ['read', 'write', 'git.log', 'mcp__git__log'],
  git__x: ['log', 'show'],
};

/** Creates servers that record their calls. */
export function servers() {
  const category = (name: string) => (name.startsWith('read') ? 'reading' : 'other');
  const define = (name: string) => ({ _meta: { 'dev.heddle/tool': { category: category(name) } } });
  const make = (names: readonly string[]) =>
    recordingServer(Object.fromEntries(names.map((name) => [name, () => text(name)])), define);
  return Object.fromEntries(Object.entries(TOOL_NAMES).map(([server, names]) => [server, make(names)]));
}

/** Returns all recorded calls as `server tool`. */
export const callsOf = (recorded: ReturnType<typeof servers>) =>
  Object.entries(recorded).flatMap(([server, { calls }]) => calls.map(({ name }) => `${server} ${name}`));
