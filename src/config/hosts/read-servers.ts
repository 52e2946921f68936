import type { JsonObject } from '../../core/call.ts';
import { isObject } from '../../core/json.ts';
import type { Problem, SourceLocation } from '../config.ts';
import type { JsonPath } from '../document.ts';
import { valueAt } from '../read/describe-issue.ts';
import { isOwnEntry } from '../read/own-entry.ts';
import { isReservedName } from '../schema/server-name.ts';
import type { HostDialect } from './dialect.ts';
import { fromEntry, type Report } from './from-entry.ts';
import type { Imported } from './host-format.ts';

/** The value of a JSON or TOML file, with the locations of its parts. */
export interface Tree {
  readonly root: JsonObject;
  locate(path: JsonPath, part?: 'name' | 'value'): SourceLocation;
}

/** Converts every server of a host's file to Heddle's format. */
export function readServers(tree: Tree, at: JsonPath, dialect: HostDialect): Imported {
  const servers: Record<string, JsonObject> = {};
  const notes: string[] = [];
  const problems: Problem[] = [];
  const found = valueAt(tree.root, at);
  const block = found === undefined ? {} : found;
  if (!isObject(block)) {
    const message = `\`${at.join('.')}\` must be an object: ${dialect.title}’s servers by name.`;
    return { servers, notes, problems: [wrong(message, 'Write an object there.', tree.locate(at))] };
  }
  const others = Object.entries(block).filter(([name, entry]) => !isOwnEntry(name, entry));
  for (const [written, entry] of others) {
    const report = reportOf({ name: written, path: [...at, written], tree, notes, problems });
    const name = freeName(written, block, report);
    if (name === undefined) continue;
    const ours = isObject(entry) ? fromEntry(entry, dialect, report) : undefined;
    if (!isObject(entry)) report.problem('A server must be an object.', 'Write `{ … }`.');
    if (ours === undefined) continue;
    if (name !== written)
      report.note(`It is renamed to \`${name}\`: Heddle’s names are letters, digits, \`-\`, \`_\`.`);
    servers[name] = dialect.switches?.isOff(tree.root, written) ? { ...ours, enabled: false } : ours;
  }
  return { servers, notes, problems };
}

function freeName(written: string, block: JsonObject, report: Report): string | undefined {
  const name = serverNameFor(written);
  if (name === undefined) report.note('It is left out: the name is reserved for Heddle itself.');
  else if (writtenNameOf(name, block) === written) return name;
  else report.note(`It is left out: another server already has the name \`${name}\`.`);
  return undefined;
}

interface ReportOptions {
  readonly name: string;
  readonly path: JsonPath;
  readonly tree: Tree;
  readonly notes: string[];
  readonly problems: Problem[];
}

function reportOf({ name, path, tree, notes, problems }: ReportOptions): Report {
  return {
    note: (text) => void notes.push(`\`${name}\`: ${text}`),
    problem: (message, fix, key) => {
      const at = tree.locate(key === undefined ? path : [...path, ...key.split('.')], key ? 'value' : 'name');
      problems.push({ ...wrong(`\`${name}\`: ${message}`, fix, at), server: name });
    },
  };
}

export function wrong(message: string, fix: string, at: SourceLocation): Problem {
  return { level: 'error', code: 'CONFIG_INVALID', message, fix, at };
}

/** Returns the name of a server in the host’s file. The same name comes before one that the import changes. */
export function writtenNameOf(name: string, block: JsonObject): string | undefined {
  if (Object.hasOwn(block, name)) return name;
  return Object.keys(block).find((key) => serverNameFor(key) === name);
}

/** Returns a valid server name for a host's name; undefined if it would be empty or reserved. */
export function serverNameFor(written: string): string | undefined {
  const legal = /^[A-Za-z0-9_-]+$/.test(written);
  const name = legal ? written : written.replace(/[^A-Za-z0-9_-]+/g, '-').replace(/^-+|-+$/g, '');
  return name === '' || isReservedName(name) ? undefined : name;
}
