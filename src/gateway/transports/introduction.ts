import type { Readable, Writable } from 'node:stream';
import { abortable } from '../../core/async/abortable.ts';
import { NO_CAPABILITIES } from '../../core/call/client-capabilities.ts';
import type { ClientCapabilities } from '../../core/call.ts';
import { isObject } from '../../core/json.ts';
import type { Era } from '../../wire/mcp.ts';
import { isId } from '../http/read-message.ts';
import { capabilitiesInMeta, parseClientCapabilities } from '../methods/client-capabilities.ts';
import { isMessage, parseText } from './client-transport.ts';

/** The capabilities and the era of the client on a pair of streams. */
export interface Introduction {
  readonly capabilities: ClientCapabilities;
  readonly era: Era;
}

const MAX_BYTES = 1_000_000;
const MAX_PING_CHARS = 10_000;
const LINE_FEED = 10;
const UNKNOWN: Introduction = { capabilities: NO_CAPABILITIES, era: 'modern' };

interface Streams {
  readonly input: Readable;
  readonly output: Writable;
}

/**
 * Reads the capabilities from the first message of a client and leaves that message in the stream. A `ping` before it
 * is answered here, because the client may wait for the response before it sends more.
 */
export async function readIntroduction({ input, output }: Streams, signal: AbortSignal): Promise<Introduction> {
  function isSkipped(line: string): boolean {
    if (line.trim() === '') return true;
    const id = pingIn(line);
    if (id !== undefined) output.write(`${JSON.stringify({ jsonrpc: '2.0', id, result: {} })}\n`);
    return id !== undefined;
  }
  const line = await peekLine(input, isSkipped, signal).catch(() => undefined);
  return line === undefined ? UNKNOWN : introductionOf(line);
}

/** Returns the id of a `ping` without capabilities; undefined for any other message. */
function pingIn(line: string): string | number | undefined {
  if (line.length > MAX_PING_CHARS) return undefined;
  const message = parseText(line);
  if (!isMessage(message) || message.method !== 'ping' || !isId(message.id)) return undefined;
  return isObject(message.params) && capabilitiesInMeta(message.params) ? undefined : message.id;
}

function introductionOf(line: string): Introduction {
  try {
    const message: unknown = JSON.parse(line);
    const [first] = Array.isArray(message) ? message : [message];
    const params = isObject(first) && isObject(first.params) ? first.params : {};
    if (isObject(first) && first.method === 'initialize') {
      return { capabilities: parseClientCapabilities(params.capabilities) ?? NO_CAPABILITIES, era: 'legacy' };
    }
    return { capabilities: capabilitiesInMeta(params) ?? NO_CAPABILITIES, era: 'modern' };
  } catch {
    return UNKNOWN; // The transport answers invalid JSON with an error when it reads it.
  }
}

/** Resolves with the first line that is not skipped, or with undefined if the stream ends or the line is too long. */
function peekLine(
  input: Readable,
  isSkipped: (line: string) => boolean,
  signal: AbortSignal,
): Promise<string | undefined> {
  const found = Promise.withResolvers<string | undefined>();
  let text: Buffer = Buffer.alloc(0);

  // The data goes back in the same turn: `unshift` on an ended stream throws.
  function finish(line?: string): void {
    input.off('readable', take).off('end', end).off('error', end);
    if (text.length > 0 && !input.readableEnded) input.unshift(text);
    found.resolve(line);
  }

  function nextLine(): string | undefined {
    for (let feed = text.indexOf(LINE_FEED); feed >= 0; feed = text.indexOf(LINE_FEED)) {
      const line = text.toString('utf8', 0, feed);
      if (!isSkipped(line)) return line;
      text = text.subarray(feed + 1);
    }
    return undefined;
  }

  const end = () => finish();
  function take(): void {
    for (let chunk = input.read(); chunk !== null; chunk = input.read()) {
      text = Buffer.concat([text, Buffer.from(chunk)]);
      const line = nextLine();
      if (line === undefined && text.length <= MAX_BYTES) continue;
      finish(line);
      return;
    }
  }

  input.on('readable', take).once('end', end).once('error', end);
  return abortable(found.promise, signal).finally(() => input.off('readable', take).off('end', end).off('error', end));
}
