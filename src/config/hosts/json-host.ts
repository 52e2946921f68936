import type { JsonObject } from '../../core/call.ts';
import { isObject } from '../../core/json.ts';
import type { Problem } from '../config.ts';
import type { Document, JsonPath } from '../document.ts';
import { valueAt } from '../read/describe-issue.ts';
import { parseDocument } from '../read/parse-document.ts';
import type { HostDialect } from './dialect.ts';
import { editJson } from './edit-json.ts';
import type { HostFormat, Imported } from './host-format.ts';
import { planEdits } from './plan-edits.ts';
import { readServers, wrong } from './read-servers.ts';
import { redactJson } from './redact-host.ts';

const BYTE_ORDER_MARK = '\uFEFF';

/** Makes the format of a host that keeps its servers in an object of a JSON file, by name. */
export function jsonHost(dialectOf: HostDialect | ((root: JsonObject) => HostDialect)): HostFormat {
  const choose = (root: JsonObject) => (typeof dialectOf === 'function' ? dialectOf(root) : dialectOf);
  return {
    title: choose({}).title,
    from(text, { file, at }) {
      const document = parseDocument(file, withoutMark(text));
      if (!('root' in document)) return { servers: {}, notes: [], problems: [document] };
      const dialect = choose(document.root);
      const path = at ?? dialect.at;
      return withFindings(readServers(document, path, dialect), document, path);
    },
    to(servers, existing = '', { file, at }) {
      const text = existing.trim() === '' ? '{}\n' : withoutMark(existing);
      const document = parseDocument(file, text);
      if (!('root' in document)) return { text: existing, notes: [], problems: [document] };
      const dialect = choose(document.root);
      const path = at ?? dialect.at;
      const problem = findNonObject(document, path);
      if (problem !== undefined) return { text: existing, notes: [], problems: [problem] };
      const { edits, notes } = planEdits({ servers, root: document.root, at: path, dialect });
      const edited = editJson(text, edits);
      return { text: existing.startsWith(BYTE_ORDER_MARK) ? BYTE_ORDER_MARK + edited : edited, notes, problems: [] };
    },
    redacted: redactJson,
  };
}

const withoutMark = (text: string) => (text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text);

function withFindings(imported: Imported, { findings }: Document, at: JsonPath): Imported {
  const inside = findings.filter(({ path }) => at.every((step, index) => path[index] === step));
  return { ...imported, problems: [...inside.map(({ problem }) => problem), ...imported.problems] };
}

/** Returns a problem if a value on the path of the servers is not an object: the file cannot be edited. */
function findNonObject(document: Document, at: JsonPath): Problem | undefined {
  for (const [index] of at.entries()) {
    const path = at.slice(0, index + 1);
    const value = valueAt(document.root, path);
    if (value === undefined) break;
    if (!isObject(value))
      return wrong(`\`${path.join('.')}\` must be an object.`, 'Correct it.', document.locate(path));
  }
  return undefined;
}
