import type { AuditHead } from './records/audit-entry.ts';

const HEAD = /^\s*([\w-]{1,64}) ([1-9]\d{0,14}) ([0-9a-f]{64})\s*$/;

/** Writes the place of an audit record as one line: segment, sequence, hash. */
export const formatHead = ({ segment, sequence, hash }: AuditHead): string => `${segment} ${sequence} ${hash}`;

/** Parses such a line. Returns undefined if it is none. */
export function parseHead(text: string): AuditHead | undefined {
  const [, segment, sequence, hash] = HEAD.exec(text) ?? [];
  if (segment === undefined || sequence === undefined || hash === undefined) return undefined;
  return { segment, sequence: Number(sequence), hash };
}
