import { setImmediate as turn } from 'node:timers/promises';
import { abortable } from '../../core/async/abortable.ts';
import type { ClientCapabilities, JsonObject } from '../../core/call.ts';
import { HeddleError, UpstreamError } from '../../core/errors.ts';
import { isObject } from '../../core/json.ts';
import { cutAndEscape } from '../../core/text/cut-text.ts';
import { realTimer, type Timer } from '../../core/time.ts';
import { RpcError } from '../../wire/json-rpc.ts';
import {
  type Era,
  HEADER_MISMATCH,
  INVALID_PARAMS,
  LEGACY_VERSIONS,
  META,
  METHOD_NOT_FOUND,
  MODERN_VERSION,
  type ProtocolVersion,
  UNSUPPORTED_VERSION,
} from '../../wire/mcp.ts';
import type { Peer } from '../../wire/peer.ts';
import type { Agreement } from '../connection.ts';

export interface NegotiateOptions {
  readonly client: { readonly name: string; readonly version: string };
  /** The client capabilities to declare; none unless given. */
  readonly capabilities?: JsonObject;
  readonly deadlineMs: number;
  readonly signal: AbortSignal;
  /** The era of an earlier connect: tried first, with the whole deadline. */
  readonly known?: Era | undefined;
  /** True if a legacy server gets a notification when its list of roots changes. The modern era has none. */
  readonly announcesRoots?: boolean;
  /** The only version to speak, if the entry of the server fixes one. */
  readonly protocol?: ProtocolVersion | undefined;
  /** Time without an answer to the probe after which `initialize` is sent as well; 2 s unless given. */
  readonly probeMs?: number;
  readonly timer?: Timer;
  /** Receives the legacy version before `initialized` is sent, which must already carry it. */
  readonly onLegacyVersion?: ((version: string) => void) | undefined;
}

const MAX_INSTRUCTIONS_CHARS = 4096;
const NO_INITIALIZE = [METHOD_NOT_FOUND, INVALID_PARAMS, HEADER_MISMATCH, UNSUPPORTED_VERSION];

/** Returns the `ClientCapabilities` object of MCP, for both eras. */
export const capabilitiesOf = (capabilities: ClientCapabilities, hasRoots: boolean): JsonObject => ({
  ...((capabilities.form || capabilities.url) && {
    elicitation: { ...(capabilities.form && { form: {} }), ...(capabilities.url && { url: {} }) },
  }),
  ...(capabilities.sampling && { sampling: capabilities.samplingTools ? { tools: {} } : {} }),
  ...((capabilities.roots || hasRoots) && { roots: {} }),
  ...(capabilities.extensions && { extensions: capabilities.extensions }),
});

/** Finds the newest era that both sides speak, on one transport. Leaves the peer speaking it. */
export async function negotiate(peer: Peer, options: NegotiateOptions): Promise<Agreement> {
  const { known, protocol, deadlineMs, probeMs = 2000, timer = realTimer } = options;
  if (protocol === MODERN_VERSION) return speakModern(peer, (await discover(peer, options)) ?? noModern(), options);
  if (protocol) return initialize(peer, options);
  if (known === 'legacy') {
    try {
      return await initialize(peer, options);
    } catch (thrown) {
      if (!(thrown instanceof RpcError)) throw thrown; // An error response: the server may have been upgraded since.
    }
  }
  const quietMs = Math.min(probeMs, deadlineMs / 2);
  const probe = startProbe(peer, options);
  if (known === undefined && !(await isSettledIn(quietMs, probe.settled, timer))) {
    return initializeToo(peer, probe, { ...options, deadlineMs: deadlineMs - quietMs });
  }
  const { found, thrown } = await probe.settled;
  if (found) return speakModern(peer, found, options);
  if (thrown !== undefined && !meansLegacy(thrown)) throw lostAtProbe(thrown);
  return initialize(peer, options);
}

interface Probed {
  readonly found?: Agreement | undefined;
  readonly thrown?: unknown;
}

interface Probe {
  readonly settled: Promise<Probed>;
  /** The outcome, once there is one. */
  readonly outcome: () => Probed | undefined;
  readonly abort: () => void;
}

function startProbe(peer: Peer, options: NegotiateOptions): Probe {
  const abandoned = new AbortController();
  let outcome: Probed | undefined;
  const settled = discover(peer, { ...options, signal: AbortSignal.any([options.signal, abandoned.signal]) }).then(
    (found): Probed => ({ found }),
    (thrown: unknown): Probed => ({ thrown }),
  );
  settled.then((one) => {
    outcome = one;
  });
  return { settled, outcome: () => outcome, abort: () => abandoned.abort() };
}

/** Tests whether the promise settles within `ms`. */
async function isSettledIn(ms: number, promise: Promise<unknown>, timer: Timer): Promise<boolean> {
  const quiet = Promise.withResolvers<boolean>();
  const cancel = timer(ms, () => quiet.resolve(false));
  const settled = await Promise.race([promise.then(() => true), quiet.promise]);
  cancel();
  return settled;
}

/**
 * Sends `initialize` while the probe is unanswered: the server is slow to start, or ignores methods it does not know.
 * An answer to `initialize` binds the connection to the older era, whatever the probe's answer is.
 */
async function initializeToo(peer: Peer, probe: Probe, options: NegotiateOptions): Promise<Agreement> {
  try {
    const agreed = await initialize(peer, options);
    await turn(); // Both answers may have come in one chunk.
    return probe.outcome()?.found ? { ...agreed, newest: 'modern' } : agreed;
  } catch (thrown) {
    await turn();
    const probed = probe.outcome();
    if (options.signal.aborted) throw thrown;
    if (probed?.found) return speakModern(peer, probed.found, options);
    if (!meansModern(thrown)) throw isLost(probed?.thrown) ? lostAtProbe(thrown) : thrown;
    probe.abort();
    const late = await discoverLate(peer, options);
    if (!late) throw thrown;
    return speakModern(peer, late, options);
  } finally {
    probe.abort();
  }
}

/** Probes again with the whole deadline. Returns undefined on failure: the error before it is more useful. */
async function discoverLate(peer: Peer, options: NegotiateOptions): Promise<Agreement | undefined> {
  try {
    return await discover(peer, options);
  } catch (thrown) {
    if (options.signal.aborted) throw thrown;
    return undefined;
  }
}

const envelopeOf = ({ client, capabilities = {} }: NegotiateOptions): JsonObject => ({
  [META.protocolVersion]: MODERN_VERSION,
  [META.clientInfo]: client,
  [META.clientCapabilities]: capabilities,
});

function noModern(): never {
  throw new RpcError(UNSUPPORTED_VERSION, `The server does not speak ${MODERN_VERSION}, which its entry demands.`);
}

function speakModern(peer: Peer, found: Agreement, options: NegotiateOptions): Agreement {
  peer.speakModern(envelopeOf(options));
  return found;
}

async function discover(peer: Peer, options: NegotiateOptions): Promise<Agreement | undefined> {
  const { deadlineMs, signal } = options;
  const request = () => peer.request('server/discover', { _meta: envelopeOf(options) }, { deadlineMs, signal });
  const found = await request().catch((thrown: unknown) => {
    if (!offersModern(thrown)) throw thrown;
    return request();
  });
  const versions = found.supportedVersions;
  if (!Array.isArray(versions) || !versions.includes(MODERN_VERSION)) return undefined;
  const serverInfo = (found._meta as JsonObject | undefined)?.[META.serverInfo];
  return agreement('modern', MODERN_VERSION, { ...found, serverInfo });
}

async function initialize(peer: Peer, options: NegotiateOptions): Promise<Agreement> {
  const { client, protocol, deadlineMs, signal, onLegacyVersion } = options;
  const roots = options.announcesRoots && { roots: { listChanged: true } };
  const capabilities = { ...options.capabilities, ...roots };
  const hello = { protocolVersion: protocol ?? LEGACY_VERSIONS[0], capabilities, clientInfo: client };
  const found = await peer.request('initialize', hello, { deadlineMs, signal });
  const version = found.protocolVersion;
  const accepted: readonly unknown[] = protocol ? [protocol] : LEGACY_VERSIONS;
  if (!accepted.includes(version))
    throw new RpcError(UNSUPPORTED_VERSION, `The server speaks only ${String(version)}.`);
  onLegacyVersion?.(String(version));
  await notifyInitialized(peer, options);
  return agreement('legacy', String(version), found);
}

/** Sends `notifications/initialized`. Over HTTP it waits for the response, which a broken server may never send. */
async function notifyInitialized(peer: Peer, { deadlineMs, signal }: NegotiateOptions): Promise<void> {
  const deadline = AbortSignal.timeout(deadlineMs);
  try {
    await abortable(peer.notify('notifications/initialized'), AbortSignal.any([signal, deadline]));
  } catch (thrown) {
    if (!deadline.aborted) throw thrown;
    const message = `The server did not take \`initialized\` within ${deadlineMs} ms.`;
    throw new UpstreamError('UPSTREAM_TIMEOUT', message, { delivered: 'no', cause: thrown });
  }
}

/** Tests whether a failed probe means a legacy server: any answer but 401, 403, 429 and 5xx, or a timeout. */
function meansLegacy(thrown: unknown): boolean {
  if (thrown instanceof RpcError) return true;
  if (!HeddleError.is(thrown)) return false;
  const { status } = thrown.details;
  if (typeof status === 'number') return status < 500 && status !== 401 && status !== 403 && status !== 429;
  return thrown.code === 'UPSTREAM_TIMEOUT';
}

/** Tests whether the connection was lost at the probe: servers that know only `initialize` may end then. */
export const wasLostAtProbe = ({ details, cause }: HeddleError): boolean =>
  details.lostAtProbe === true || (HeddleError.is(cause) && cause.details.lostAtProbe === true);

const isLost = (thrown: unknown): thrown is HeddleError =>
  HeddleError.is(thrown) && thrown.code === 'UPSTREAM_FAILED' && thrown.details.status === undefined;

function lostAtProbe(thrown: unknown): unknown {
  if (!isLost(thrown)) return thrown;
  const { message, cause } = thrown;
  return new UpstreamError('UPSTREAM_FAILED', message, { delivered: 'no', cause, details: { lostAtProbe: true } });
}

/** Tests whether a server refused a version that it also lists as supported: a load balancer may mix servers. */
const offersModern = (thrown: unknown): boolean =>
  thrown instanceof RpcError &&
  thrown.code === UNSUPPORTED_VERSION &&
  isObject(thrown.data) &&
  Array.isArray(thrown.data.supported) &&
  thrown.data.supported.includes(MODERN_VERSION);

/** Tests whether an error to `initialize` means a modern server. */
const meansModern = (thrown: unknown): boolean => thrown instanceof RpcError && NO_INITIALIZE.includes(thrown.code);

function agreement(era: Era, protocolVersion: string, found: JsonObject): Agreement {
  const { capabilities, serverInfo, instructions } = found;
  return {
    era,
    newest: era,
    protocolVersion,
    capabilities: isObject(capabilities) ? capabilities : {},
    serverInfo: isObject(serverInfo) ? serverInfo : {},
    instructions: typeof instructions === 'string' ? cleaned(instructions) : undefined,
  };
}

/** Returns instructions of at most 4,096 characters without control characters: they are stored, and joined for clients. */
const cleaned = (instructions: string): string =>
  cutAndEscape(instructions.slice(0, 2 * MAX_INSTRUCTIONS_CHARS).replaceAll('\r\n', '\n'), MAX_INSTRUCTIONS_CHARS);
