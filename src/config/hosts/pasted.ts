import type { JsonObject } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import { isObject } from '../../core/json.ts';
import { quoteName } from '../../core/text/visible-text.ts';
import type { Document, JsonPath } from '../document.ts';
import { toPastedEntry } from './pasted-entry.ts';
import { readInputs } from './pasted-references.ts';
import { findEntries, meantKey, PASTED_SHAPES } from './pasted-shape.ts';
import { parsePasted } from './pasted-text.ts';
import { serverNameFor } from './read-servers.ts';
import { registry } from './registry.ts';

/** A server of pasted JSON, in Heddle's format. */
export interface PastedServer {
  /** The name in the JSON, if it has one. */
  readonly name?: string;
  readonly entry: JsonObject;
  /** The tools that the pasted text runs without a confirmation; `*` for all. They are not carried over. */
  readonly approvals: readonly string[];
}

export interface Pasted {
  readonly servers: readonly PastedServer[];
  /** The effects of keys that are not Heddle's. */
  readonly notes: readonly string[];
}

/** Reads the servers of JSON in the format of any host. Throws INPUT_INVALID with the location of the first error. */
export function readPasted(source: string, text: string): Pasted {
  const { document, notes } = parsePasted(source, text);
  if (!('root' in document)) {
    const { message, fix, at } = document;
    throw new HeddleError('INPUT_INVALID', `Line ${at?.line}, column ${at?.column}: ${message}`, { fix });
  }
  const refused = document.findings.find(({ problem }) => problem.level === 'error');
  if (refused) throw new HeddleError('INPUT_INVALID', refused.problem.message, { fix: refused.problem.fix });
  const read = isRegistryFile(document.root) ? fromRegistry(document) : fromHosts(document);
  return { servers: read.servers, notes: [...notes, ...read.notes] };
}

const isRegistryFile = ({ packages, remotes }: JsonObject): boolean =>
  Array.isArray(packages) || Array.isArray(remotes);

function fromRegistry({ root, file }: Document): Pasted {
  const { servers, notes, problems } = registry.from(JSON.stringify(root), { file });
  const [problem] = problems.filter(({ level }) => level === 'error');
  if (problem) throw new HeddleError('INPUT_INVALID', problem.message, { fix: problem.fix });
  return { servers: Object.entries(servers).map(([name, entry]) => ({ name, entry, approvals: [] })), notes };
}

function fromHosts(document: Document): Pasted {
  const { root } = document;
  const shape = findEntries(root);
  if ('misfit' in shape) throw unknownShape(document, shape.misfit);
  const { isOpencode } = shape;
  const inputs = readInputs(root.inputs ?? (isObject(root.mcp) ? root.mcp.inputs : undefined));
  const notes: string[] = [];
  const servers = shape.entries.map(({ name: written, path, entry }): PastedServer => {
    if (!isObject(entry)) throw unknownShape(document, path);
    const read = toPastedEntry(entry, { isOpencode, inputs });
    const name = written === undefined ? undefined : legalName(written);
    const of = name === undefined ? '' : `\`${name}\`: `;
    if (name !== written)
      notes.push(`\`${written}\` is renamed to \`${name}\`: names are letters, digits, \`-\`, \`_\`.`);
    notes.push(...read.notes.map((note) => `${of}${note}`));
    return { ...(name !== undefined && { name }), entry: read.entry, approvals: read.approvals };
  });
  return { servers, notes };
}

/** Returns a valid name; of `@scope/server` and `github.com/user/server` the last part. A reserved name stays. */
function legalName(written: string): string {
  if (/^[A-Za-z0-9_-]*$/.test(written)) return written;
  return serverNameFor(written.split('/').findLast((part) => part !== '') ?? written) ?? written;
}

function unknownShape(document: Document, path: JsonPath): HeddleError {
  const { line, column } = document.locate(path, 'name');
  const meant = path.length === 0 ? undefined : meantKey(path);
  const where =
    path.length === 0
      ? 'it is empty'
      : `\`${path.join('.')}\` (line ${line}, column ${column}) fits no shape that Heddle knows`;
  return new HeddleError('INPUT_INVALID', `There is no server in ${document.file}: ${where}.`, {
    fix: `${meant === undefined ? '' : `Did you mean \`${quoteName(meant)}\`? `}Known shapes are ${PASTED_SHAPES}.`,
  });
}
