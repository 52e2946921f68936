import { hash } from 'node:crypto';
import { unknownValue } from '../../cel/unknown-value.ts';
import { ROLES } from '../../core/call/caller.ts';
import type { Taint } from '../../core/call/facts.ts';
import type { Caller, CallKind, Json, JsonObject, Role, Target } from '../../core/call.ts';
import { isObject } from '../../core/json.ts';
import type { AuditEntry } from '../../core/records/audit-entry.ts';
import { REDACTED } from '../../core/text/redact-text.ts';
import { DEEPER, TRUNCATED } from '../sanitise.ts';
import type { Sent } from '../sensitive.ts';

/** A recorded call. `sent` has `unknownValue` in place of values that were redacted, cut or not recorded. */
export interface RecordedCall {
  readonly caller: Caller;
  readonly target: Target;
  readonly kind: CallKind;
  readonly sent: Sent & Pick<Required<Sent>, 'time'>;
  /** True if a value of `sent` is unknown. */
  readonly isPartial: boolean;
  /** True if the labels of the session were not recorded, and a rule looks at them. */
  readonly noTaint: boolean;
  /** True if an unknown value may look sensitive. */
  readonly mayBeSensitive: boolean;
}

/** Why a recorded call cannot be decided again, by the words of `undecidableBy`. */
export type Undecidable =
  | 'the tool is not known any more'
  | 'the definition of the tool has changed'
  | 'a value was redacted or cut';

export interface RecordedCallOptions {
  /** Finds a known entry of the catalog. */
  readonly find: (kind: CallKind, name: string) => Target | undefined;
  /** True if a rule looks at the labels of the session. */
  readonly looksAtTaint: boolean;
}

/** Returns true for the opening record of a call. Administrative acts have no decision; continuations belong to a call. */
export const isOpening = ({ phase, detail }: Pick<AuditEntry, 'phase' | 'detail'>): boolean =>
  phase === 'intent' &&
  typeof detail.tool === 'string' &&
  typeof detail.decision === 'string' &&
  detail.continuation === undefined;

/** Builds a call from its opening record, or says why it cannot be decided again. */
export function recordedCall(entry: AuditEntry, options: RecordedCallOptions): RecordedCall | Undecidable {
  const { detail, at } = entry;
  const kind = (detail.kind ?? 'tool') as CallKind;
  const target = options.find(kind, entry.name);
  if (!target) return 'the tool is not known any more';
  if (target.digest !== detail.tool) return 'the definition of the tool has changed';
  const input = restored(detail.arguments, detail.input);
  const meta = restored(detail._meta, detail.meta);
  const extraParams = restored(detail.parameters, detail.extraParams);
  const noTaint = options.looksAtTaint && detail.taint === undefined;
  const parts = [input, meta, extraParams];
  const isRead = target.facts.readOnly;
  return {
    caller: callerOf(entry),
    target,
    kind,
    sent: {
      kind,
      time: at,
      input: (input.value ?? {}) as JsonObject,
      ...(meta.value !== undefined && { meta: objectOf(meta.value) }),
      ...(extraParams.value !== undefined && { extraParams: objectOf(extraParams.value) }),
      taint: (detail.taint ?? []) as readonly Taint[],
    },
    noTaint,
    isPartial: noTaint || parts.some(({ hides }) => hides !== 'nothing'),
    mayBeSensitive: parts.some(({ hides }) => hides === 'names' || (hides === 'values' && !isRead)),
  };
}

function callerOf({ caller: id, via, detail }: AuditEntry): Caller {
  const roles = (Array.isArray(detail.roles) ? detail.roles : []).filter((role): role is Role =>
    ROLES.includes(role as Role),
  );
  const profile = typeof detail.profile === 'string' ? { profile: detail.profile } : {};
  const agent = typeof detail.agent === 'string' ? { agent: detail.agent } : {};
  return { id, roles, via: via as Caller['via'], ...profile, ...agent };
}

/** A recorded part of a call. `hides` says what was redacted or cut: values alone, or names of members, too. */
interface Restored {
  readonly value: object | undefined;
  readonly hides: 'nothing' | 'values' | 'names';
}

/** Restores a part of a call from its sanitised copy. If the digest fits, nothing was redacted or cut. */
function restored(copy: Json | undefined, digest: Json | undefined): Restored {
  if (copy === undefined) return { value: undefined, hides: 'nothing' };
  if (typeof digest === 'string' && hash('sha256', JSON.stringify(copy)) === digest) {
    return { value: copy as object, hides: 'nothing' };
  }
  const seen = { values: false, names: false };
  const value = isObject(copy) ? (withUnknowns(copy, seen) as object) : unknownValue;
  // A copy without a mark differs in a way that is not known, such as the digits of a long number.
  if (!isObject(copy) || (!seen.values && !seen.names)) return { value: unknownValue, hides: 'names' };
  return { value, hides: seen.names ? 'names' : 'values' };
}

const objectOf = (value: object): JsonObject => (value === unknownValue ? {} : (value as JsonObject));

/** Replaces the marks of `sanitised` by the unknown value. */
function withUnknowns(value: Json | undefined, seen: { values: boolean; names: boolean }): unknown {
  if (typeof value === 'string') {
    const isHidden = value === REDACTED || value === DEEPER;
    if (!isHidden && !value.includes(REDACTED) && !value.endsWith(TRUNCATED)) return value;
    if (isHidden) seen.names = true;
    else seen.values = true;
    return unknownValue;
  }
  if (Array.isArray(value)) return value.map((item: Json) => withUnknowns(item, seen));
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, withUnknowns(item, seen)]));
}
