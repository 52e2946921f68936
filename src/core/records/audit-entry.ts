import type { JsonObject } from '../call.ts';

/** An audit record with its place in the hash chain. */
export interface AuditEntry {
  readonly segment: string;
  readonly sequence: number;
  readonly hash: string;
  /** For the first record of a segment: the newest record that its writer found, as one line. */
  readonly link?: string;
  readonly callId: string;
  readonly phase: string;
  readonly at: number;
  readonly caller: string;
  readonly via: string;
  readonly name: string;
  readonly detail: JsonObject;
}

/** A search of the audit log. All given conditions have to hold. */
export interface AuditSearch {
  readonly since?: number;
  readonly until?: number;
  readonly callId?: string;
  readonly caller?: string;
  readonly name?: string;
  readonly phase?: string;
  readonly via?: string;
  /** By dotted path in `detail`: the exact value as text. */
  readonly detail?: Readonly<Record<string, string>>;
  /** Text anywhere in the record, in any case. */
  readonly text?: string;
  readonly limit?: number;
}

/** The newest record of a chain, for keeping elsewhere. */
export interface AuditHead {
  readonly segment: string;
  readonly sequence: number;
  readonly hash: string;
}

/** A fault that `audit verify` found, with its position. */
export interface AuditFault {
  readonly kind:
    | 'changed'
    | 'removed'
    | 'inserted'
    | 'moved'
    | 'cut'
    | 'missing-segment'
    | 'checkpoint'
    | 'head'
    | 'emptied';
  readonly segment: string;
  readonly sequence: number;
  readonly message: string;
}

export interface AuditVerification {
  readonly records: number;
  readonly segments: number;
  readonly checkpoints: number;
  /** The first checkpoint after a prune, where the verification starts. */
  readonly from?: AuditHead;
  /** The first faults, at most 1,000. */
  readonly faults: readonly AuditFault[];
  /** The number of all faults. */
  readonly faultCount: number;
  /** `checked` if a head was given: no record up to it is missing. Otherwise removed newest records cannot be seen. */
  readonly end: 'checked' | 'unknown';
  /** The result in words. */
  readonly message: string;
}
