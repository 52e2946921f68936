import type { JsonObject, Target } from '../../core/call.ts';
import type { Owner } from './facts.ts';

/** The owner of the tool: it comes with Heddle, whatever the entry of its server says. */
export const SIGN_IN_OWNER: Owner = { entry: undefined, builtin: true };

// Known by identity: a server may list a tool of the same name and text, which is an ordinary tool.
const made = new WeakSet<JsonObject>();
const byServer = new Map<string, JsonObject>();

/** Returns the tool that a caller sees in place of a server's own tools until it has signed in. */
export function signInTool(server: string): JsonObject {
  const known = byServer.get(server);
  if (known) return known;
  const tool: JsonObject = {
    name: 'sign_in',
    title: `Sign in to ${server}`,
    description: `Returns the address at which the user signs in to ${server}. Its tools are listed after the sign-in.`,
    inputSchema: { type: 'object', properties: {}, additionalProperties: false },
    annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  };
  made.add(tool);
  byServer.set(server, tool);
  return tool;
}

/** Tests whether a list is that of a caller who has to sign in. */
export const isSignInList = ([first]: readonly JsonObject[]): boolean => first !== undefined && made.has(first);

/** Tests whether a target is the tool for signing in, which no server runs. */
export const isSignInTool = ({ facts, definition }: Pick<Target, 'facts' | 'definition'>): boolean =>
  facts.builtin && made.has(definition);
