import type { JsonObject } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import { isObject } from '../../core/json.ts';
import type { StandingWish } from '../../core/records/approval.ts';
import { cutAndEscapeBreaks } from '../../core/text/cut-text.ts';

export interface CheckedVerdict {
  readonly verdict: 'approve' | 'reject';
  readonly note?: string;
  readonly standing?: StandingWish;
  readonly content?: JsonObject;
}

const MAX_NOTE_CHARS = 2000;
const MAX_ARGUMENTS = 50;
const MAX_ARGUMENT_CHARS = 1000;
const MAX_USES = 1_000_000;
const MAX_UNTIL_MS = 31_536_000_000;
const FIELDS: readonly string[] = ['verdict', 'note', 'standing', 'content'];
const STANDING_FIELDS: readonly string[] = ['session', 'untilMs', 'uses', 'arguments', 'exactly'];

/** Checks a decision from outside. Throws INPUT_INVALID for unknown fields, a long note or a rejection without one. */
export function checkVerdict(given: unknown): CheckedVerdict {
  if (!isObject(given)) throw invalid('it has to be an object');
  requireFields(given, FIELDS);
  const { verdict, note, standing, content } = given;
  if (verdict !== 'approve' && verdict !== 'reject') throw invalid('`verdict` has to be approve or reject');
  if (note !== undefined && typeof note !== 'string') throw invalid('`note` has to be text');
  const written = note?.trim() ?? '';
  if (written.length > MAX_NOTE_CHARS) throw invalid(`\`note\` may have at most ${MAX_NOTE_CHARS} characters`);
  if (verdict === 'reject' && written === '') throw invalid('a rejection needs a note with its reason');
  if (verdict === 'reject' && standing !== undefined) throw invalid('a rejection cannot be a standing approval');
  return {
    verdict,
    ...(written !== '' && { note: written }),
    ...(standing !== undefined && { standing: checkStanding(standing) }),
    ...contentOf(content),
  };
}

function contentOf(content: unknown): Pick<CheckedVerdict, 'content'> {
  if (content === undefined) return {};
  if (!isObject(content)) throw invalid('`content` has to be an object');
  return { content };
}

function checkStanding(given: unknown): StandingWish {
  if (!isObject(given)) throw invalid('`standing` has to be an object');
  requireFields(given, STANDING_FIELDS);
  const { session, untilMs, uses, arguments: globs, exactly } = given;
  if (session !== undefined && typeof session !== 'boolean') throw invalid('`session` has to be true or false');
  if (exactly !== undefined && typeof exactly !== 'boolean') throw invalid('`exactly` has to be true or false');
  const until = wholeNumber('untilMs', untilMs, MAX_UNTIL_MS);
  const left = wholeNumber('uses', uses, MAX_USES);
  return {
    ...(session !== undefined && { session }),
    ...(until !== undefined && { untilMs: until }),
    ...(left !== undefined && { uses: left }),
    ...(globs !== undefined && { arguments: checkArguments(globs) }),
    ...(exactly === true && { exactly }),
  };
}

function wholeNumber(name: string, value: unknown, max: number): number | undefined {
  if (value === undefined) return undefined;
  if (typeof value === 'number' && Number.isInteger(value) && value > 0 && value <= max) return value;
  throw invalid(`\`${name}\` has to be a whole number from 1 to ${max}`);
}

function checkArguments(globs: unknown): Readonly<Record<string, string>> {
  if (!isObject(globs)) throw invalid('`arguments` has to be an object');
  const entries = Object.entries(globs);
  if (entries.length > MAX_ARGUMENTS) throw invalid(`\`arguments\` may have at most ${MAX_ARGUMENTS} entries`);
  const checked = entries.map(([path, glob]): [string, string] => {
    const isShort = typeof glob === 'string' && glob.length <= MAX_ARGUMENT_CHARS && path.length <= MAX_ARGUMENT_CHARS;
    if (path === '' || !isShort)
      throw invalid(`each glob of \`arguments\` has to be text of up to ${MAX_ARGUMENT_CHARS} characters`);
    return [path, glob];
  });
  return Object.fromEntries(checked);
}

function requireFields(given: object, known: readonly string[]): void {
  const unknown = Object.keys(given).find((key) => !known.includes(key));
  if (unknown !== undefined) throw invalid(`it has the unknown field ${cutAndEscapeBreaks(unknown, 80)}`);
}

const invalid = (reason: string) =>
  new HeddleError('INPUT_INVALID', `The decision cannot be accepted: ${reason}.`, {
    fix: 'Correct the decision; nothing was decided.',
  });
