import { createHash } from 'node:crypto';
import type { ClientCapabilities, Extensions, InputRequest, JsonObject } from '../call.ts';
import { canonicalJson } from '../json.ts';

/** The capabilities of a client that can handle no input request. */
export const NO_CAPABILITIES: ClientCapabilities = {
  form: false,
  url: false,
  sampling: false,
  samplingTools: false,
  roots: false,
};

/** Returns true if a client with these capabilities can handle an input request. */
export function canHandle(capabilities: ClientCapabilities, { method, params = {} }: InputRequest): boolean {
  if (method === 'roots/list') return capabilities.roots;
  if (method === 'elicitation/create') return params.mode === 'url' ? capabilities.url : capabilities.form;
  return capabilities.sampling && (!needsTools(params) || capabilities.samplingTools);
}

const needsTools = ({ tools, toolChoice }: JsonObject) => tools !== undefined || toolChoice !== undefined;

/** Returns the name of the capability that an input request needs, for messages. */
export function requiredCapability({ method, params = {} }: InputRequest): string {
  if (method === 'roots/list') return 'roots';
  if (method === 'elicitation/create') return `elicitation by ${params.mode === 'url' ? 'URL' : 'form'}`;
  return needsTools(params) ? 'sampling with tools' : 'sampling';
}

/** Returns the `openHeddle` callback that handles an input request; undefined if no callback can. */
export function callbackFor({ method, params = {} }: InputRequest): string | undefined {
  if (method === 'roots/list') return 'onRoots';
  if (method === 'elicitation/create') return 'onElicitation';
  return needsTools(params) ? undefined : 'onSampling';
}

/** Returns true if the client can handle at least one kind of input request. Extensions make no difference. */
export const hasAnyCapability = (capabilities: ClientCapabilities): boolean =>
  capabilities.form || capabilities.url || capabilities.sampling || capabilities.roots;

/** Returns the input requests that both clients can handle. */
export const sharedCapabilities = (one: ClientCapabilities, other: ClientCapabilities): ClientCapabilities => ({
  form: one.form && other.form,
  url: one.url && other.url,
  sampling: one.sampling && other.sampling,
  samplingTools: one.samplingTools && other.samplingTools,
  roots: one.roots && other.roots,
});

const FLAGS = 64;
// With 46 bits and the flags, a key stays below 2^53.
const DIGEST_BITS = 46;
const keys = new WeakMap<Extensions, number>();

/**
 * Encodes a capability set as a number below 2^53; 0 means none. The flags are the lowest six bits, and above them is a
 * part of the digest of the extensions.
 */
export function capabilitiesKey(capabilities: ClientCapabilities | undefined): number {
  if (!capabilities) return 0;
  const { extensions } = capabilities;
  const flags = inputFlags(capabilities);
  return extensions ? flags + FLAGS * extensionsKey(extensions) : flags;
}

/** Encodes the capabilities for input requests, without the extensions; 0 means none. */
export const inputFlags = (capabilities: ClientCapabilities): number =>
  (capabilities.form ? 1 : 0) |
  (capabilities.url ? 2 : 0) |
  (capabilities.sampling ? 4 : 0) |
  (capabilities.samplingTools ? 8 : 0) |
  (capabilities.roots ? 16 : 0) |
  (capabilities.rootsListChanged ? 32 : 0);

/** Tests whether a key of `capabilitiesKey` stands for capabilities with extensions. */
export const hasExtensions = (key: number): boolean => key >= FLAGS;

function extensionsKey(extensions: Extensions): number {
  const known = keys.get(extensions);
  if (known !== undefined) return known;
  const digest = createHash('sha256').update(canonicalJson(extensions)).digest();
  const key = Math.floor(digest.readUIntBE(0, 6) / 2 ** (48 - DIGEST_BITS));
  keys.set(extensions, key);
  return key;
}
