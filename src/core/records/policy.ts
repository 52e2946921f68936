import type { Effect, JsonObject, Target, TargetKind } from '../call.ts';
import type { ApprovalStage } from './approval.ts';

/** A place in a configuration or policy file. */
export interface RuleLocation {
  readonly file: string;
  readonly line: number;
}

/** The effect of the rules on one entry of the catalog, for one caller. */
export interface EntryPermission {
  readonly kind: TargetKind;
  readonly name: string;
  readonly effect: Effect;
  readonly rule: string;
  readonly reason: string;
  readonly at?: RuleLocation;
  /** The rules that look at arguments, taint or time, and may change the effect of one call. */
  readonly depends?: readonly string[];
}

/** A rule that wins over another one. */
export interface OverridingRule {
  readonly effect: Effect;
  readonly rule: string;
  readonly reason: string;
  readonly at?: RuleLocation;
}

/** The verdict of one rule on one call. */
export interface RuleVerdict {
  readonly rule: string;
  readonly effect: Effect;
  /** `no`: it does not match. `error`: its condition failed, which denies. */
  readonly matches: 'yes' | 'no' | 'error';
  readonly reason: string;
  readonly isShadow?: true;
  readonly at?: RuleLocation;
}

/** The result of `policy check`: the decision on a call that was not made. */
export interface PolicyCheck {
  readonly name: string;
  readonly effect: Effect;
  readonly rule: string;
  readonly reason: string;
  readonly verdicts: readonly RuleVerdict[];
  /** The stages of an approval, if one is needed and possible. */
  readonly stages?: readonly ApprovalStage[];
  /** The id of a standing approval that would settle the call. */
  readonly standing?: string;
  /** Why no approval can be requested. */
  readonly refusal?: string;
}

/** A recorded call whose effect differs between the current and the candidate rules. */
export interface ChangedCall {
  readonly callId: string;
  readonly at: number;
  readonly caller: string;
  readonly name: string;
  readonly before: Effect;
  readonly after: Effect;
  readonly rule: string;
}

/** The result of `policy simulate`. */
export interface Simulation {
  readonly calls: number;
  readonly unchanged: number;
  readonly newlyAllowed: number;
  readonly newlyAsked: number;
  readonly newlyDenied: number;
  /** Calls that depend on redacted or cut values, or on a definition that has changed. */
  readonly undecidable: number;
  /** The first changed calls, newest first; at most 1,000. */
  readonly changed: readonly ChangedCall[];
  /** By reason: the number of undecidable calls. */
  readonly undecidableBy: Readonly<Record<string, number>>;
  /** The first undecidable calls, newest first; at most 1,000. */
  readonly undecidableCalls: readonly UndecidableCall[];
}

/** A recorded call that cannot be decided again. */
export interface UndecidableCall {
  readonly callId: string;
  readonly at: number;
  readonly caller: string;
  readonly name: string;
  readonly reason: string;
}

/** The caller whose permissions are shown: an id such as `key:ci`, whose roles are looked up, and a profile. */
export interface PolicySubject {
  readonly caller?: string;
  readonly profile?: string;
}

/** A rule of `permissions` that is not written yet. */
export interface NewRule {
  readonly effect: Effect;
  /** A public name, `mcp__server`, `mcp__server__*` or a URI. */
  readonly pattern: string;
  /** The lists from which writing the rule removes the same pattern. */
  readonly leaves: readonly Effect[];
}

export interface CheckedCall {
  readonly name: string;
  /** The arguments, or a function that builds them from the definition of the tool, which may be hidden. */
  readonly input: JsonObject | ((target: Target) => JsonObject);
  readonly as?: PolicySubject;
  readonly signal: AbortSignal;
}

export interface SimulateOptions {
  /** The file with the candidate rules. */
  readonly candidate: string;
  readonly since: number;
  readonly signal: AbortSignal;
  readonly onProgress?: (calls: number) => void;
}
