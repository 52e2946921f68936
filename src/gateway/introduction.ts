import type { Readable } from 'node:stream';
import { NO_ABILITIES } from '../core/abilities.ts';
import { abortable } from '../core/abortable.ts';
import type { Abilities } from '../core/call.ts';
import { isObject } from '../core/json.ts';
import type { Era } from './asked.ts';
import { abilitiesIn, abilitiesOf } from './client-abilities.ts';

/** The capabilities and the era of the one client on a pair of streams. */
export interface Introduction {
  readonly can: Abilities;
  readonly era: Era;
}

const MAX_BYTES = 1_000_000;
const LINE_FEED = 10;
const UNKNOWN: Introduction = { can: NO_ABILITIES, era: 'modern' };

/** Reads what the first message of a client says of it. The message stays in the stream. */
export async function readIntroduction(input: Readable, signal: AbortSignal): Promise<Introduction> {
  const line = await peekLine(input, signal).catch(() => undefined);
  return line === undefined ? UNKNOWN : introductionOf(line);
}

function introductionOf(line: string): Introduction {
  try {
    const message: unknown = JSON.parse(line);
    const [first] = Array.isArray(message) ? message : [message];
    const params = isObject(first) && isObject(first.params) ? first.params : {};
    if (isObject(first) && first.method === 'initialize') {
      return { can: abilitiesOf(params.capabilities) ?? NO_ABILITIES, era: 'legacy' };
    }
    return { can: abilitiesIn(params) ?? NO_ABILITIES, era: 'modern' };
  } catch {
    return UNKNOWN; // The transport refuses it when it reads it.
  }
}

/** Resolves with the first line, or with undefined when the stream ends or the line is too long. */
function peekLine(input: Readable, signal: AbortSignal): Promise<string | undefined> {
  const found = Promise.withResolvers<string | undefined>();
  const chunks: Buffer[] = [];

  // The data goes back in the same turn: a stream that has ended takes none back later.
  function finish(isWhole: boolean): void {
    input.off('readable', take).off('end', end).off('error', end);
    const text = Buffer.concat(chunks);
    if (text.length > 0 && !input.readableEnded) input.unshift(text);
    found.resolve(isWhole ? text.toString('utf8', 0, text.indexOf(LINE_FEED)) : undefined);
  }

  const end = () => finish(false);
  function take(): void {
    for (let chunk = input.read(); chunk !== null; chunk = input.read()) {
      chunks.push(Buffer.from(chunk));
      const isWhole = chunks.at(-1)?.includes(LINE_FEED) === true;
      const isTooLong = chunks.reduce((sum, { length }) => sum + length, 0) > MAX_BYTES;
      if (!isWhole && !isTooLong) continue;
      finish(isWhole);
      return;
    }
  }

  input.on('readable', take).once('end', end).once('error', end);
  return abortable(found.promise, signal).finally(() => input.off('readable', take).off('end', end).off('error', end));
}
