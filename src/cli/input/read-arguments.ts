import { readFile } from 'node:fs/promises';
import type { Json, JsonObject } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import { isObject, parseJson } from '../../core/json.ts';

/** Parses the arguments of a tool: `key=text`, `key:=json`, and a JSON object from `--args`. */
export async function readArguments(words: readonly string[], whole: string | undefined): Promise<JsonObject> {
  const input: Record<string, Json | undefined> = { ...(whole === undefined ? {} : await readWhole(whole)) };
  for (const word of words) {
    const [, key, typed, value] = /^([^:=]+)(:?)=([\s\S]*)$/.exec(word) ?? [];
    if (key === undefined || value === undefined) throw notAnArgument(word);
    if (key === '__proto__') throw notAnArgument(word);
    input[key] = typed ? readJson(value, `the value of ${key}`) : value;
  }
  return input;
}

const EXAMPLE = `Write one JSON object: --args '{"key":"value"}'.`;

/** Reads `--args`: a JSON object, `@file`, or `-` for stdin. */
async function readWhole(whole: string): Promise<JsonObject> {
  const value = readJson(await sourceOf(whole), '--args', EXAMPLE);
  if (isObject(value)) return value;
  throw new HeddleError('INPUT_INVALID', '--args is not a JSON object.', { fix: EXAMPLE });
}

async function sourceOf(whole: string): Promise<string> {
  if (whole === '-') return (await import('node:stream/consumers')).text(process.stdin);
  if (!whole.startsWith('@')) return whole;
  try {
    return await readFile(whole.slice(1), 'utf8');
  } catch (cause) {
    throw new HeddleError('INPUT_INVALID', `The file ${whole.slice(1)} cannot be read.`, {
      cause,
      fix: 'Check its path.',
    });
  }
}

function readJson(text: string, what: string, fix = 'Use key=text for plain text.'): Json {
  try {
    return parseJson(text, { numbers: 'exact' });
  } catch (cause) {
    const reason = HeddleError.from(cause).message.replace('The JSON cannot be accepted: ', '');
    throw new HeddleError('INPUT_INVALID', `${what} is not JSON: ${reason}`, {
      cause,
      fix,
    });
  }
}

const notAnArgument = (word: string) =>
  new HeddleError('USAGE_INVALID', `${word} is not an argument.`, { fix: 'Write key=text or key:=json.' });
