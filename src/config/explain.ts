import type { Json, JsonObject } from '../core/call.ts';
import { HeddleError } from '../core/errors.ts';
import { closest } from '../core/text/did-you-mean.ts';
import { REDACTED } from '../core/text/redact-text.ts';
import { quoteName } from '../core/text/visible-text.ts';
import type { Config, DroppedServer, PolicyVerdict, Problem, Scope, ServerConfig, SourceLocation } from './config.ts';
import { valueAt } from './read/describe-issue.ts';
import { isSecretName, redact, withoutSecrets } from './read/redact.ts';
import { settingPaths } from './schema/schema.ts';
import { BUILTINS } from './schema/server-name.ts';

/** A value in force with its source, and the sources that lost to it. */
export interface ExplainRow extends Partial<SourceLocation> {
  /** `gateway.port`, `mcpServers.github.command`, … */
  readonly key: string;
  /** The value with secrets redacted; null if the server is invalid. */
  readonly value: Json;
  readonly scope: Scope;
  readonly shadowed: readonly ({ readonly scope: Scope } & SourceLocation)[];
  /** The reason why the server is not used: it is invalid or blocked. */
  readonly problem?: Problem;
  /** The rule of the organisation that allows or blocks the server. */
  readonly policy?: PolicyVerdict;
  /** A sentence about a built-in server that it replaces, or about entries of its name that are not used. */
  readonly note?: string;
}

/**
 * Lists every value in force with its source. A subject (a server, one of its fields, a setting) limits the list to
 * that; an unknown subject throws NAME_UNKNOWN.
 */
export function explain(config: Config, subject?: string): readonly ExplainRow[] {
  const rows = [
    ...[...config.servers.values()].flatMap((server) => serverRows(config, server)),
    ...config.dropped.filter(({ name }) => !config.servers.has(name)).map(droppedRow),
    ...settingRows(config),
    ...connectorRows(config),
  ];
  if (subject === undefined) return rows;
  const wanted = rows.filter(({ key }) => isWithin(key, subject) || isWithin(key, `mcpServers.${subject}`));
  if (wanted.length === 0) throw unknownSubject(subject, rows);
  return wanted;
}

function serverRows(config: Config, server: ServerConfig): readonly ExplainRow[] {
  const { name, entry, written, problem, policy, scope, at, shadowed } = server;
  const start = ['mcpServers', name];
  const note = noteOn(config, server);
  const facts = { ...(problem && { problem }), ...(policy && { policy }), ...(note !== undefined && { note }) };
  const whole = { scope, ...at, shadowed: shadowed.map(flat) };
  if (entry === undefined) return [{ key: start.join('.'), value: null, ...whole, ...facts }];
  return fieldsOf(withoutSecrets(entry as JsonObject, written) as JsonObject, []).map(({ path, value }) => {
    const key = [...start, ...path];
    const shown = isSecretField(path) ? REDACTED : redact(value);
    // A programmatic server is written in no file.
    const origin = at === undefined ? whole : originOf(config, key);
    return { key: key.join('.'), value: shown, ...origin, ...facts };
  });
}

function noteOn({ dropped }: Config, { name, scope }: ServerConfig): string | undefined {
  const replaces = BUILTINS.has(name) && scope !== 'builtin' ? ['It replaces the built-in server of this name.'] : [];
  const others = dropped
    .filter((server) => server.name === name)
    .map(
      ({ scope: from, at: { file, line }, reason }) =>
        `The entry of scope ${from} at ${file}:${line} is not used: ${reason}`,
    );
  return replaces.length + others.length > 0 ? [...replaces, ...others].join(' ') : undefined;
}

function droppedRow({ name, scope, at, reason }: DroppedServer): ExplainRow {
  return { key: `mcpServers.${name}`, value: null, scope, ...at, shadowed: [], note: `Not used: ${reason}` };
}

function connectorRows(config: Config): readonly ExplainRow[] {
  return config.settings.connectors.map(({ name, ...value }) => {
    const path = ['connectors', name];
    return { key: path.join('.'), value: redact(value), ...originOf(config, path) };
  });
}

function settingRows(config: Config): readonly ExplainRow[] {
  return settingPaths.map((path) => {
    const value = valueAt(config.settings as unknown as JsonObject, path) ?? null;
    return { key: path.join('.'), value: redact(value), ...originOf(config, path) };
  });
}

function originOf({ origins }: Config, path: readonly string[]): Omit<ExplainRow, 'key' | 'value'> {
  const origin = origins.get(path.join('.'));
  if (origin === undefined) return { scope: 'default', shadowed: [] };
  return { scope: origin.scope, ...origin.at, shadowed: origin.shadowed.map(flat) };
}

function flat({
  scope,
  at,
}: {
  readonly scope: Scope;
  readonly at: SourceLocation;
}): { readonly scope: Scope } & SourceLocation {
  return { scope, ...at };
}

interface Field {
  readonly path: readonly string[];
  readonly value: Json;
}

function fieldsOf(value: JsonObject, path: readonly string[]): readonly Field[] {
  return Object.entries(value).flatMap(([key, item]): readonly Field[] => {
    const here = [...path, key];
    const inner = typeof item === 'object' && item !== null && !Array.isArray(item);
    return inner ? fieldsOf(item as JsonObject, here) : [{ path: here, value: item ?? null }];
  });
}

// The name of a tool is skipped: `tools.get_token.timeoutMs` is no secret.
function isSecretField(path: readonly string[]): boolean {
  return path.some((name, index) => !(index === 1 && path[0] === 'tools') && isSecretName(name));
}

function isWithin(key: string, subject: string): boolean {
  return key === subject || key.startsWith(`${subject}.`);
}

function unknownSubject(subject: string, rows: readonly ExplainRow[]): HeddleError {
  const names = new Set(rows.flatMap(({ key }) => prefixesOf(key.replace(/^mcpServers\./, ''))));
  const meant = closest(subject, names);
  return new HeddleError('NAME_UNKNOWN', `There is no server or setting \`${subject}\`.`, {
    fix: meant === undefined ? 'Run `heddle config explain` to see all.' : `Did you mean \`${quoteName(meant)}\`?`,
  });
}

function prefixesOf(key: string): readonly string[] {
  const steps = key.split('.');
  return steps.map((_, index) => steps.slice(0, index + 1).join('.'));
}
