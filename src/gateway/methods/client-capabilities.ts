import { capabilitiesKey, hasAnyCapability } from '../../core/call/client-capabilities.ts';
import { callerKey } from '../../core/call/private-user.ts';
import type { Caller, ClientCapabilities, JsonObject } from '../../core/call.ts';
import { isObject } from '../../core/json.ts';
import type { Features } from '../../core/records/listing.ts';
import type { CatalogChange } from '../../core/records/server-status.ts';
import { RpcError } from '../../wire/json-rpc.ts';
import { type Era, META, MISSING_CAPABILITY, TASKS_EXTENSION } from '../../wire/mcp.ts';

const CHANGING = { listChanged: true };

/** What clients are told they can ask for: tools, what servers log, and what else some server has. */
export const toServerCapabilities = ({ resources, subscribe, prompts, completions }: Features): JsonObject => ({
  tools: CHANGING,
  ...(resources && { resources: subscribe ? { subscribe: true, ...CHANGING } : CHANGING }),
  ...(prompts && { prompts: CHANGING }),
  ...(completions && { completions: {} }),
  logging: {},
});

/** What a client says that its user can be asked, in either era; undefined when that is nothing. */
export function parseClientCapabilities(declared: unknown): ClientCapabilities | undefined {
  const { elicitation, sampling, roots } = isObject(declared) ? declared : {};
  const asks = isObject(elicitation) ? elicitation : undefined;
  const capabilities = {
    // Forms came first: whoever names no way of asking means them.
    form: asks !== undefined && (isObject(asks.form) || !isObject(asks.url)),
    url: isObject(asks?.url),
    sampling: isObject(sampling),
    samplingTools: isObject(sampling) && isObject(sampling.tools),
    roots: isObject(roots),
  };
  return hasAnyCapability(capabilities) ? capabilities : undefined;
}

/** What the envelope of a modern request says of it. */
export const capabilitiesInMeta = ({ _meta }: JsonObject): ClientCapabilities | undefined =>
  isObject(_meta) ? parseClientCapabilities(_meta[META.clientCapabilities]) : undefined;

/** Whether a modern client says, in this very request, that it knows what a task is. */
export function supportsTasks(meta: unknown): boolean {
  const capabilities = isObject(meta) ? meta[META.clientCapabilities] : undefined;
  const extensions = isObject(capabilities) ? capabilities.extensions : undefined;
  return isObject(extensions) && isObject(extensions[TASKS_EXTENSION]);
}

/** Throws for a client that asks about tasks without having said that it knows them. */
export function requireTaskSupport({ _meta }: JsonObject): void {
  if (supportsTasks(_meta)) return;
  throw new RpcError(
    MISSING_CAPABILITY,
    `Only clients that declare the extension ${TASKS_EXTENSION} can ask about tasks.`,
    {
      requiredCapabilities: { extensions: { [TASKS_EXTENSION]: {} } },
    },
  );
}

const able = new WeakMap<Caller, Map<string, Caller>>();

/**
 * The caller with what their client can be asked, which decides what they are shown. The same object for the same
 * abilities: the pages that somebody has seen are remembered by it.
 */
export function withCapabilities(caller: Caller, capabilities: ClientCapabilities, era: Era): Caller {
  const known = able.get(caller) ?? new Map<string, Caller>();
  able.set(caller, known);
  const key = `${era} ${capabilitiesKey(capabilities)}`;
  const same = known.get(key) ?? { ...caller, capabilities, era };
  known.set(key, same);
  return same;
}

/** The client that a change may concern. */
export interface Listener {
  readonly callerId: string;
  readonly capabilities: ClientCapabilities | undefined;
  readonly era: Era;
}

/** Tests whether a client sees a change: some lists are for one capability set, or for one private user. */
export function isChangeVisibleTo({ detail }: CatalogChange, { callerId, capabilities, era }: Listener): boolean {
  if (detail.user !== undefined) return detail.user === callerKey({ id: callerId, era }, capabilities);
  return detail.capabilities === undefined || detail.capabilities === capabilitiesKey(capabilities);
}
