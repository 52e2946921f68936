import { BoundedMap } from '../../core/bounded-map.ts';
import { capabilitiesKey, hasAnyCapability } from '../../core/call/client-capabilities.ts';
import { extensionsIn, UI_EXTENSION } from '../../core/call/extensions.ts';
import { callerKey } from '../../core/call/private-user.ts';
import type { Caller, ClientCapabilities, Extensions, JsonObject } from '../../core/call.ts';
import { isObject } from '../../core/json.ts';
import type { Features } from '../../core/records/listing.ts';
import type { CatalogChange } from '../../core/records/server-status.ts';
import type { Heddle } from '../../heddle.ts';
import { RpcError } from '../../wire/json-rpc.ts';
import { type Era, META, MISSING_CAPABILITY, TASKS_EXTENSION } from '../../wire/mcp.ts';

const LIST_CHANGED = { listChanged: true };

/** Returns the server capabilities of the gateway: tools and logging always, the others if some server has them. */
export const toServerCapabilities = ({ resources, subscribe, prompts, completions }: Features): JsonObject => ({
  tools: LIST_CHANGED,
  ...(resources && { resources: subscribe ? { subscribe: true, ...LIST_CHANGED } : LIST_CHANGED }),
  ...(prompts && { prompts: LIST_CHANGED }),
  ...(completions && { completions: {} }),
  logging: {},
});

/**
 * Parses the declared capabilities of a client of either era. Returns undefined if it has none that Heddle uses. The tasks
 * extension is left out: see `supportsTasks`.
 */
export function parseClientCapabilities(declared: unknown, era: Era = 'legacy'): ClientCapabilities | undefined {
  const { elicitation, sampling, roots } = isObject(declared) ? declared : {};
  const modes = isObject(elicitation) ? elicitation : undefined;
  const extensions = withoutTasks(extensionsIn(declared));
  const capabilities = {
    // `elicitation: {}` without a mode means `form`, the only mode before 2025-11-25.
    form: modes !== undefined && (isObject(modes.form) || !isObject(modes.url)),
    url: isObject(modes?.url),
    sampling: isObject(sampling),
    samplingTools: isObject(sampling) && isObject(sampling.tools),
    roots: isObject(roots),
    ...(era === 'legacy' && isObject(roots) && roots.listChanged === true && { rootsListChanged: true }),
    ...(extensions && { extensions }),
  };
  return extensions || hasAnyCapability(capabilities) ? capabilities : undefined;
}

/** Removes the tasks extension, which the gateway itself has for modern clients. */
export function withoutTasks(extensions: Extensions | undefined): Extensions | undefined {
  if (!extensions?.[TASKS_EXTENSION]) return extensions;
  const { [TASKS_EXTENSION]: _, ...others } = extensions;
  return Object.keys(others).length === 0 ? undefined : others;
}

interface Narrowed {
  /** The ids that were kept. */
  readonly ids: string;
  readonly capabilities: ClientCapabilities | undefined;
}

const narrowed = new WeakMap<ClientCapabilities, Narrowed>();

/**
 * Removes the extensions that no server has, so that a client cannot have servers started by naming them. Computed with
 * each request: a server may connect for the first time during the session. Returns the same object for equal results.
 */
export function narrowExtensions(
  declared: ClientCapabilities | undefined,
  catalog: Pick<Heddle['catalog'], 'hasExtension'>,
): ClientCapabilities | undefined {
  if (!declared?.extensions) return declared;
  const { extensions, ...others } = declared;
  const all = Object.entries(extensions);
  // The first list of a session may be the one from which Heddle learns that a server has tools for views alone.
  const kept = all.filter(([id]) => id === UI_EXTENSION || catalog.hasExtension(id));
  if (kept.length === all.length) return declared;
  const ids = kept.map(([id]) => id).join(' ');
  const known = narrowed.get(declared);
  if (known?.ids === ids) return known.capabilities;
  const plain = hasAnyCapability(declared) ? others : undefined;
  const capabilities = kept.length === 0 ? plain : { ...others, extensions: Object.fromEntries(kept) };
  narrowed.set(declared, { ids, capabilities });
  return capabilities;
}

/** Parses the client capabilities in the `_meta` of a modern request. */
export const capabilitiesInMeta = ({ _meta }: JsonObject): ClientCapabilities | undefined =>
  isObject(_meta) ? parseClientCapabilities(_meta[META.clientCapabilities], 'modern') : undefined;

/** Tests whether the `_meta` of a modern request declares the tasks extension. */
export function supportsTasks(meta: unknown): boolean {
  const capabilities = isObject(meta) ? meta[META.clientCapabilities] : undefined;
  const extensions = isObject(capabilities) ? capabilities.extensions : undefined;
  return isObject(extensions) && isObject(extensions[TASKS_EXTENSION]);
}

/** Throws -32021 for a request about tasks from a client that does not declare the tasks extension. */
export function requireTaskSupport({ _meta }: JsonObject): void {
  if (supportsTasks(_meta)) return;
  throw new RpcError(
    MISSING_CAPABILITY,
    `Only clients that declare the extension ${TASKS_EXTENSION} can use the task methods.`,
    { requiredCapabilities: { extensions: { [TASKS_EXTENSION]: {} } } },
  );
}

// Two eras with 64 sets of flags. A client may declare other extensions with each request, so the number is limited.
const MAX_CALLERS = 128;
const callersByCapabilities = new WeakMap<Caller, BoundedMap<string, Caller>>();

/**
 * Adds the client's capabilities and era to the caller, which decide what the caller is shown. Returns the same object
 * for equal input: list pages are cached by caller object.
 */
export function withCapabilities(caller: Caller, capabilities: ClientCapabilities, era: Era): Caller {
  const known = callersByCapabilities.get(caller) ?? new BoundedMap<string, Caller>(MAX_CALLERS);
  callersByCapabilities.set(caller, known);
  const key = `${era} ${capabilitiesKey(capabilities)}`;
  const same = known.get(key) ?? { ...caller, capabilities, era };
  known.set(key, same);
  return same;
}

/** The client that a change may concern. */
export interface ChangeListener {
  readonly callerId: string;
  readonly capabilities: ClientCapabilities | undefined;
  readonly era: Era;
}

/** Tests whether a client sees a change: some lists are for one capability set, or for one private user. */
export function isChangeVisibleTo({ detail }: CatalogChange, { callerId, capabilities, era }: ChangeListener): boolean {
  if (detail.user !== undefined) return detail.user === callerKey({ id: callerId, era }, capabilities);
  return detail.capabilities === undefined || detail.capabilities === capabilitiesKey(capabilities);
}
