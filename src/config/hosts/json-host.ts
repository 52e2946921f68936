import type { JsonObject } from '../../core/call.ts';
import { isObject } from '../../core/json.ts';
import type { Problem } from '../config.ts';
import type { Document, JsonPath } from '../document.ts';
import { valueAt } from '../read/describe-issue.ts';
import { parseDocument } from '../read/parse-document.ts';
import type { Edit, HostDialect } from './dialect.ts';
import { editJson } from './edit-json.ts';
import type { EditableFormat, Exported, HostLocation, HostValue, Imported } from './host-format.ts';
import { hasSwitch, type Plan, planDisable, planEdits } from './plan-edits.ts';
import { readServers, wrong } from './read-servers.ts';
import { redactJson } from './redact-host.ts';

const BYTE_ORDER_MARK = '\uFEFF';

interface ParsedFile extends HostValue {
  readonly document: Document;
  readonly dialect: HostDialect;
}

/** Makes the format of a host that keeps its servers in an object of a JSON file, by name. */
export function jsonHost(dialectOf: HostDialect | ((root: JsonObject) => HostDialect)): EditableFormat {
  const choose = (root: JsonObject) => (typeof dialectOf === 'function' ? dialectOf(root) : dialectOf);
  const usual = choose({});

  function parsed(text: string, { file, at }: HostLocation): ParsedFile | Problem {
    const document = parseDocument(file, text);
    if (!('root' in document)) return document;
    const dialect = choose(document.root);
    return { document, dialect, root: document.root, at: at ?? dialect.at };
  }

  function change(existing: string, where: HostLocation, plan: (file: ParsedFile) => Plan): Exported {
    const file = parsed(bodyOf(existing), where);
    if (!('root' in file)) return { text: existing, notes: [], problems: [file] };
    const problem = findNonObject(file.document, file.at);
    if (problem !== undefined) return { text: existing, notes: [], problems: [problem] };
    const { edits, notes } = plan(file);
    return { text: edit(existing, edits), notes, problems: [] };
  }

  return {
    title: usual.title,
    transports: usual.transports,
    hasSwitch: hasSwitch(usual),
    from(text, where) {
      const file = parsed(withoutMark(text), where);
      if (!('root' in file)) return { servers: {}, notes: [], problems: [file] };
      return withFindings(readServers(file.document, file.at, file.dialect), file.document, file.at);
    },
    to: (servers, existing = '', where) => change(existing, where, (file) => planEdits({ servers, ...file })),
    redacted: redactJson,
    parse: (text, where) => parsed(bodyOf(text), where),
    disable: (names, text, where) =>
      change(text, where, (file) => ({ edits: planDisable({ names, ...file }), notes: [] })),
    edit,
  };
}

function edit(existing: string, edits: readonly Edit[]): string {
  const text = editJson(bodyOf(existing), edits);
  return existing.startsWith(BYTE_ORDER_MARK) ? BYTE_ORDER_MARK + text : text;
}

const withoutMark = (text: string) => (text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text);

/** Returns the JSON of a file; an empty file is an empty object. */
function bodyOf(text: string): string {
  const body = withoutMark(text);
  return body.trim() === '' ? '{}\n' : body;
}

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
