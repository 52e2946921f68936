import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { HeddleError } from '../../core/errors.ts';

const MAX_BYTES = 10 * 1024 * 1024;
const CHUNK_BYTES = 64 * 1024;

/** Reads the text of files and of stdin for arguments. */
export interface TextSources {
  /** Reads a regular file, or stdin for `-`. `fix` is the advice for a file that cannot be read. */
  read(path: string, fix?: string): Promise<string>;
}

/** The streams that were read: an API key and an argument may both name stdin. */
const readStreams = new WeakSet<object>();

/** Opens the sources of one command. Stdin can be read once. */
export function textSources(stdin: AsyncIterable<Buffer | string> = process.stdin): TextSources {
  return {
    async read(path, fix = 'Check its path.') {
      if (path !== '-') return decoded(await readRegularFile(path, fix), `The file ${path}`);
      if (readStreams.has(stdin))
        throw new HeddleError('USAGE_INVALID', 'Stdin was to be read twice.', { fix: 'Name stdin only once.' });
      readStreams.add(stdin);
      return decoded(await gather(stdin, 'Stdin'), 'Stdin');
    },
  };
}

async function readRegularFile(path: string, fix: string): Promise<Buffer> {
  try {
    // Without O_NONBLOCK opening a FIFO would wait for its writer.
    await using file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const stats = await file.stat();
    if (!stats.isFile())
      throw unusable(`${path} is not a regular file.`, 'Name a file, or pass the text on stdin as @-.');
    return await gather(file.createReadStream({ autoClose: false, highWaterMark: CHUNK_BYTES }), `The file ${path}`);
  } catch (cause) {
    if (HeddleError.is(cause)) throw cause;
    const { code } = cause as NodeJS.ErrnoException;
    const reason = code === 'ENOENT' ? 'it does not exist' : (code ?? String(cause));
    throw new HeddleError('INPUT_INVALID', `The file ${path} cannot be read: ${reason}.`, {
      cause,
      fix: homeHint(path) ?? fix,
    });
  }
}

const homeHint = (path: string) =>
  path.startsWith('~/') ? `The shell does not expand ~ here: write $HOME/${path.slice(2)}.` : undefined;

async function gather(stream: AsyncIterable<Buffer | string>, what: string): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of stream) {
    const buffer = Buffer.from(chunk as Buffer);
    bytes += buffer.length;
    if (bytes > MAX_BYTES) throw unusable(`${what} has more than 10 MB.`, 'Pass a smaller text.');
    chunks.push(buffer);
  }
  return Buffer.concat(chunks);
}

function decoded(bytes: Buffer, what: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new HeddleError('INPUT_INVALID', `${what} is not UTF-8 text.`, {
      cause,
      fix: 'Pass the text in UTF-8; bytes have to be encoded, for example with `base64`.',
    });
  }
}

const unusable = (message: string, fix: string) => new HeddleError('INPUT_INVALID', message, { fix });
