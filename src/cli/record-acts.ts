import { redact } from '../config/read/redact.ts';
import type { Json, JsonObject } from '../core/call.ts';
import { HeddleError } from '../core/errors.ts';
import { cutText } from '../core/text/cut-text.ts';
import { recordAct } from '../open-heddle.ts';
import type { Input } from './command.ts';
import { localCaller } from './local-caller.ts';
import { printStatement } from './print/print-line.ts';
import { openOptions } from './with-heddle.ts';

const MAX_ACTS = 50;
const MAX_WORDS = 50;
const MAX_CHARS = 2000;

/** A command that has made changes. */
export interface ActingCommand {
  readonly name: string;
  readonly input: Input;
  readonly acts: readonly JsonObject[];
  /** `ok`, or the code of the error that ended the command after its changes. */
  readonly outcome: string;
}

/** Writes the audit record of a command. A failure is printed: the changes were made, and a user can make them by hand. */
export async function recordActs({ name, input, acts, outcome }: ActingCommand): Promise<void> {
  const words = redact([...input.positionals, ...(input.rest ?? [])].slice(0, MAX_WORDS).map(cut));
  const detail = { words, changes: acts.slice(0, MAX_ACTS).map(cutTexts), outcome };
  try {
    await recordAct(localCaller(), { name: `command.${name}`, detail }, openOptions(input));
  } catch (thrown) {
    const { message, fix } = HeddleError.from(thrown);
    printStatement({ start: 'warning: ', message: `The change has no audit record: ${message}`, fix }, process.stderr);
  }
}

const cut = (text: string): string => cutText(text, MAX_CHARS);

const cutTexts = (act: JsonObject): JsonObject =>
  Object.fromEntries(
    Object.entries(act).map(([key, value]): [string, Json | undefined] => [
      key,
      typeof value === 'string' ? cut(value) : value,
    ]),
  );
