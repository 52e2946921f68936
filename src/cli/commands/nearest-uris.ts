import type { Call } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import { isObject } from '../../core/json.ts';
import { quoteName } from '../../core/text/visible-text.ts';
import type { CommandHeddle } from '../command-heddle.ts';
import { findMissing, printMissing } from '../print/missing-servers.ts';
import { listCatalogEntries } from './list-catalog.ts';

const SHOWN = 5;
const MAX_COMPARED_CHARS = 200;
const MIN_SIMILARITY = 0.5;
const RESOURCE_NOT_FOUND = [-32002, -32602];

/** Lists the nearest URIs in the error for an unknown resource. Other errors stay as they are. */
export async function withNearestUris(error: HeddleError, call: Call, heddle: CommandHeddle): Promise<HeddleError> {
  if (error.code !== 'NAME_UNKNOWN' && !isNotFound(error)) return error;
  const { caller, name } = call;
  const list = (kind: 'resource' | 'template') =>
    listCatalogEntries(heddle, caller, { kind, includeInvalid: false, waitMs: 0 });
  const known = (await Promise.all([list('resource'), list('template')])).flat().map(({ publicName }) => publicName);
  if (error.code === 'NAME_UNKNOWN') printMissing(await findMissing(heddle, caller));
  const { code, message, details, cause } = error;
  return new HeddleError(code, message, { details, cause, fix: advice(name, known) ?? error.fix });
}

/** Tests for the answer of a server that does not know the URI. */
function isNotFound({ code, details: { rpc } }: HeddleError): boolean {
  return code === 'UPSTREAM_REFUSED' && isObject(rpc) && RESOURCE_NOT_FOUND.includes(Number(rpc.code));
}

function advice(uri: string, known: readonly string[]): string | undefined {
  if (known.length === 0) return undefined;
  const near = nearestUris(uri, known);
  const list = (uris: readonly string[]) => uris.map(quoteName).join(', ');
  if (near.length === 1) return `Did you mean ${list(near)}?`;
  if (near.length > 1) return `The nearest are ${list(near)}.`;
  const more = known.length > SHOWN ? `, and ${known.length - SHOWN} more in \`heddle list resources\`` : '';
  return `There are ${list(known.slice(0, SHOWN))}${more}.`;
}

/** Returns up to five URIs and templates that are most like a URI, the nearest first. */
export function nearestUris(uri: string, known: readonly string[]): readonly string[] {
  const wanted = pairsIn(uri);
  return known
    .map((one) => ({ one, likeness: similarity(wanted, pairsIn(one.replace(/\{[^{}]*\}/g, ''))) }))
    .filter(({ likeness }) => likeness >= MIN_SIMILARITY)
    .sort((a, b) => b.likeness - a.likeness)
    .slice(0, SHOWN)
    .map(({ one }) => one);
}

/** Returns the pairs of neighbouring characters, without case. */
function pairsIn(text: string): ReadonlySet<string> {
  const lower = text.slice(0, MAX_COMPARED_CHARS).toLowerCase();
  return new Set(Array.from({ length: Math.max(lower.length - 1, 0) }, (_, at) => lower.slice(at, at + 2)));
}

/** Returns the share of common pairs, from 0 to 1. */
function similarity(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  const common = [...a].filter((pair) => b.has(pair)).length;
  return a.size + b.size === 0 ? 0 : (2 * common) / (a.size + b.size);
}
