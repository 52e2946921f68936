import type { Settings } from '../../config/schema/schema.ts';
import { vaultPrincipal } from '../../core/call/vault-principal.ts';
import type { Caller, Json, JsonObject, Target } from '../../core/call.ts';
import { isObject } from '../../core/json.ts';
import type { StandingApproval } from '../../core/records/approval.ts';
import { matchesGlob } from '../../core/text/match-glob.ts';
import type { Clock } from '../../core/time.ts';
import type { StandingBook, StoredStanding } from '../../store/approvals/standing-book.ts';
import { allowsTools, matchesCallers } from '../policy/match.ts';

/** A call that a standing approval may settle. */
export interface StandingCandidate {
  readonly target: Target;
  readonly caller: Caller;
  readonly input: JsonObject;
  /** Its `standingBindings`, computed for a stored one only, with the arguments if the stored one covers no others. */
  readonly binding: (withArguments: boolean) => string;
  /** The names of all configured servers and pools. */
  readonly groups?: ReadonlySet<string> | undefined;
}

type ConfiguredStanding = Settings['approvals']['standing'][number];

/** A standing approval, with the callers of a configured one. */
export interface KnownStanding extends StandingApproval {
  readonly callers?: readonly string[];
}

/** Returns the standing approvals of the configuration. Their ids name their place in the list. */
export const configuredStanding = (standing: readonly ConfiguredStanding[]): readonly KnownStanding[] =>
  standing.map(({ tool, callers, arguments: globs, expires }, index) => ({
    id: `approvals.standing[${index}]`,
    tool,
    arguments: globs,
    approvedBy: 'configuration',
    createdAt: 0,
    from: 'configuration',
    ...(callers && { callers }),
    ...(expires !== undefined && { expiresAt: Date.parse(expires) }),
  }));

/** Returns true if a standing approval is not over and has a use left. */
export const isUsable = ({ usesLeft, expiresAt }: StandingApproval, now: number): boolean =>
  (usesLeft === undefined || usesLeft > 0) && (expiresAt === undefined || now < expiresAt);

/**
 * Returns the stored standing approvals whose time is not over. Removes the others, so that a clock set back later revives
 * none.
 */
export async function unexpired({
  standing,
  clock,
}: {
  readonly standing: StandingBook;
  readonly clock: Clock;
}): Promise<readonly StoredStanding[]> {
  const now = clock();
  const all = await standing.all();
  const isOver = ({ expiresAt = Number.POSITIVE_INFINITY }: StandingApproval) => expiresAt <= now;
  for (const { id } of all.filter(isOver)) await standing.revoke(id);
  return all.filter((one) => !isOver(one));
}

/** Returns true if a standing approval covers calls with the same arguments alone. */
export const isExact = ({ exactly }: StandingApproval): boolean => exactly !== undefined;

/** Returns true if a standing approval settles a call now. */
export function settlesCall(standing: KnownStanding, candidate: StandingCandidate, now: number): boolean {
  const { target, caller, input, groups } = candidate;
  const { tool, from } = standing;
  if (!isUsable(standing, now) || !isOfCaller(standing, caller)) return false;
  // A stored one names its tool exactly, and its binding covers all of it.
  const isOfTool =
    from === 'store'
      ? tool === target.publicName && standing.binding === candidate.binding(isExact(standing))
      : allowsTools([tool], target, groups);
  return isOfTool && hasMatchingArguments(standing, input);
}

/**
 * Returns true if every argument that a standing approval names matches its glob. A path that can be read in two ways, as
 * a key with dots and as nested keys, matches only if each of its values does.
 */
export const hasMatchingArguments = (
  { arguments: globs }: Pick<StandingApproval, 'arguments'>,
  input: JsonObject,
): boolean =>
  Object.entries(globs).every(([path, glob]) => {
    const values = valuesAt(input, path);
    return values.length > 0 && values.every((value) => matchesArgument(glob, value));
  });

function isOfCaller({ caller: principal, callers, session }: KnownStanding, caller: Caller): boolean {
  if (principal !== undefined && principal !== vaultPrincipal(caller)) return false;
  if (callers && !matchesCallers(callers, caller)) return false;
  return session === undefined || session === caller.session;
}

/** Returns the values at a dotted path, with every split of the path into keys. */
function valuesAt(input: Json | undefined, path: string): readonly (Json | undefined)[] {
  if (!isObject(input)) return [];
  const values = Object.hasOwn(input, path) ? [input[path]] : [];
  for (let dot = path.indexOf('.'); dot >= 0; dot = path.indexOf('.', dot + 1)) {
    const key = path.slice(0, dot);
    if (Object.hasOwn(input, key)) values.push(...valuesAt(input[key], path.slice(dot + 1)));
  }
  return values;
}

// Values that a path may hide in: another folder, a separator of Windows, an encoded or invisible character.
const UNSAFE = /\.\.|\\|%|\p{Cc}|\p{Cf}/u;

/** Matches one argument against a glob. `*` does not match `/`; a value with `..` never matches. */
export function matchesArgument(glob: string, value: Json | undefined): boolean {
  if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean') return false;
  const text = String(value);
  if (text === glob && !glob.includes('*')) return !text.includes('..');
  const [patterns, parts] = [glob.split('/'), text.split('/')];
  if (UNSAFE.test(text) || patterns.length !== parts.length) return false;
  return parts.every((part, at) => matchesGlob(patterns[at] ?? '', part));
}
