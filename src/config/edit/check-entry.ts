import type { Json, JsonObject } from '../../core/call.ts';
import { isObject } from '../../core/json.ts';
import type { Problem } from '../config.ts';
import { parseDocument } from '../read/parse-document.ts';
import { readEntry } from '../read/read-entry.ts';

export interface CheckedEntry {
  /** As reading the file would report them. */
  readonly problems: readonly Problem[];
  /** Variables the entry names that are not set now. */
  readonly unset: readonly string[];
}

interface EntryPlace {
  readonly foreign: boolean;
  readonly env: Readonly<Record<string, string | undefined>>;
}

const SECRET = /(?<!\$)\$\{secret:[A-Za-z0-9_.-]+\}/g;
const VARIABLE = /(?<!\$)\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)\}/g;

/** Checks an entry before it is written, as the file that gets it would be. What is not set yet may be set later. */
export function checkEntry(name: string, entry: Json, { foreign, env }: EntryPlace): CheckedEntry {
  const named = namesIn(entry);
  const unset = named.filter((variable) => env[variable] === undefined);
  // Any value will do, but a URL has to look like one.
  const any = isObject(entry) && String(entry.type).startsWith('ws') ? 'ws://value' : 'http://value';
  const standIns = Object.fromEntries(named.map((variable) => [variable, env[variable] ?? any]));
  const text = JSON.stringify({ mcpServers: { [name]: withoutSecrets(entry) } });
  const document = parseDocument('', text);
  if (!('root' in document)) return { problems: [unplaced(document)], unset };
  const written = (document.root.mcpServers as JsonObject)[name] ?? null;
  const variables = { env: standIns, workspaceFolder: '/', userHome: '/' };
  const refused = document.findings.map(({ problem }) => problem).filter(({ level }) => level === 'error');
  const { problems } =
    refused.length > 0
      ? { problems: refused }
      : readEntry(written, ['mcpServers', name], { document, foreign, variables, folder: '/' });
  return { problems: problems.map(unplaced), unset };
}

// The place in a file that is not there yet tells nobody anything.
function unplaced({ at: _, ...problem }: Problem): Problem {
  return problem;
}

function namesIn(value: Json): readonly string[] {
  return [...new Set([...JSON.stringify(value).matchAll(VARIABLE)].map(([, name = '']) => name))];
}

function withoutSecrets(value: Json): Json {
  return JSON.parse(JSON.stringify(value).replace(SECRET, 'value')) as Json;
}
