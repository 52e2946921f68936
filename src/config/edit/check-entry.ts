import type { Json, JsonObject } from '../../core/call.ts';
import { isObject } from '../../core/json.ts';
import type { Problem } from '../config.ts';
import { parseDocument } from '../read/parse-document.ts';
import { readEntry } from '../read/read-entry.ts';

export interface CheckedEntry {
  /** The problems that reading the file would report. */
  readonly problems: readonly Problem[];
  /** Variables of the entry that are not set. */
  readonly unset: readonly string[];
}

interface CheckOptions {
  readonly foreign: boolean;
  readonly env: Readonly<Record<string, string | undefined>>;
}

const SECRET = /(?<!\$)\$\{secret:[A-Za-z0-9_.-]+\}/g;
const VARIABLE = /(?<!\$)\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)\}/g;

/** Validates an entry before it is written to a file. Unset variables are listed in `unset`, not as problems. */
export function checkEntry(name: string, entry: Json, { foreign, env }: CheckOptions): CheckedEntry {
  const named = namesIn(entry);
  const unset = named.filter((variable) => env[variable] === undefined);
  // An unset variable gets a placeholder that is valid in a URL, too.
  const placeholder = isObject(entry) && String(entry.type).startsWith('ws') ? 'ws://value' : 'http://value';
  const values = Object.fromEntries(named.map((variable) => [variable, env[variable] ?? placeholder]));
  const text = JSON.stringify({ mcpServers: { [name]: withoutSecrets(entry) } });
  const document = parseDocument('', text);
  if (!('root' in document)) return { problems: [withoutLocation(document)], unset };
  const written = (document.root.mcpServers as JsonObject)[name] ?? null;
  const variables = { env: values, workspaceFolder: '/', userHome: '/' };
  const refused = document.findings.map(({ problem }) => problem).filter(({ level }) => level === 'error');
  const { problems } =
    refused.length > 0
      ? { problems: refused }
      : readEntry(written, ['mcpServers', name], { document, foreign, variables, folder: '/' });
  return { problems: problems.map(withoutLocation), unset };
}

// The location is that of a temporary document.
function withoutLocation({ at: _, ...problem }: Problem): Problem {
  return problem;
}

function namesIn(value: Json): readonly string[] {
  return [...new Set([...JSON.stringify(value).matchAll(VARIABLE)].map(([, name = '']) => name))];
}

function withoutSecrets(value: Json): Json {
  return JSON.parse(JSON.stringify(value).replace(SECRET, 'value')) as Json;
}
