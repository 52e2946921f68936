import type { Json } from '../core/call.ts';
import { readTextFile } from '../files/edit-file.ts';
import type { Config, LoadedPolicy, Scope, ServerConfig, Shadow, SourceLocation } from './config.ts';
import { RULE_EFFECTS, type RuleEffect } from './edit/edit-rules.ts';
import { valueAt } from './read/describe-issue.ts';
import { parseDocument } from './read/parse-document.ts';

/** A permission rule in force, and the place where it is written. */
export interface PermissionRule extends Partial<SourceLocation> {
  readonly effect: RuleEffect;
  /** A public name, `mcp__server`, `mcp__server__*` or a URI; for a rule of a server entry, what it covers. */
  readonly rule: string;
  /** The setting that has it: `permissions.allow`, `mcpServers.github.permissions.deniedTools`, … */
  readonly key: string;
  readonly scope: Scope;
}

type Covered = Pick<PermissionRule, 'effect' | 'rule'>;

/** Lists the permission rules in force: the global ones, those of server entries and those of profiles. */
export async function rulesInForce(config: Config): Promise<readonly PermissionRule[]> {
  const global = await Promise.all(RULE_EFFECTS.map((effect) => globalRulesOf(config, effect)));
  const ofServers = [...config.servers.values()].flatMap(serverRulesOf(config));
  const policies = (config.policies ?? []).map(toPermissionRule);
  return [...global.flat(), ...ofServers, ...(await profileRulesOf(config)), ...policies];
}

const toPermissionRule = ({ name, effect, shadow, scope, at }: LoadedPolicy): PermissionRule => ({
  effect,
  rule: shadow ? `${name} (shadow)` : name,
  key: 'policies',
  scope,
  ...at,
});

/** A rule that several files have is listed once per file: each of them has to drop it. */
async function globalRulesOf(config: Config, effect: RuleEffect): Promise<readonly PermissionRule[]> {
  const path = ['permissions', effect];
  const key = path.join('.');
  const rules = config.settings.permissions[effect];
  const origin = config.origins.get(key);
  if (origin === undefined) return rules.map((rule) => ({ effect, rule, key, scope: 'default' }));
  const files = await Promise.all([origin, ...origin.shadowed].map((shadow) => writtenAt(shadow, path)));
  return rules.flatMap((rule): PermissionRule[] => {
    const written = files.flatMap(({ scope, items }) => {
      const at = items.get(rule);
      return at === undefined ? [] : [{ effect, rule, key, scope, ...at }];
    });
    return written.length > 0 ? written : [{ effect, rule, key, scope: origin.scope, ...origin.at }];
  });
}

/** Finds each string of a list in the text of a file. A file that cannot be read has none. */
async function writtenAt({ scope, at }: Shadow, path: readonly string[]) {
  const items = new Map<string, SourceLocation>();
  const text = await readTextFile(at.file).catch(() => '');
  const document = text === '' ? undefined : parseDocument(at.file, text.replace(/^\uFEFF/, ''));
  if (document === undefined || !('root' in document)) return { scope, items };
  const list = valueAt(document.root, path);
  for (const [index, item] of (Array.isArray(list) ? list : []).entries()) {
    if (typeof item === 'string') items.set(item, document.locate([...path, index]));
  }
  return { scope, items };
}

const serverRulesOf =
  (config: Config) =>
  ({ name, entry }: ServerConfig): readonly PermissionRule[] =>
    Object.entries(entry?.permissions ?? {}).map(([field, value]) => {
      const key = `mcpServers.${name}.permissions.${field}`;
      const origin = config.origins.get(key);
      return { ...coveredBy(field, value), key, scope: origin?.scope ?? 'default', ...origin?.at };
    });

function coveredBy(field: string, value: Json): Covered {
  const listed = Array.isArray(value) ? value.join(', ') || '(none)' : '';
  if (field === 'readPermission') return { effect: value as RuleEffect, rule: 'calls that read' };
  if (field === 'writePermission') return { effect: value as RuleEffect, rule: 'calls that may write' };
  if (field === 'deniedTools') return { effect: 'deny', rule: listed };
  return {
    effect: 'allow',
    rule: field === 'allowedTools' ? `${listed} (others ask)` : `${listed} (others are denied)`,
  };
}

/** Lists the rules of profiles. The first file that has a profile gives the whole of it. */
async function profileRulesOf({ settings, origins }: Config): Promise<readonly PermissionRule[]> {
  const origin = origins.get('profiles');
  const files = origin === undefined ? [] : [origin, ...origin.shadowed];
  const wanted = Object.entries(settings.profiles).flatMap(([name, { permissions }]) =>
    RULE_EFFECTS.map((effect) => ({
      path: ['profiles', name, 'permissions', effect],
      effect,
      list: permissions[effect],
    })),
  );
  const found = await Promise.all(
    wanted.map(async ({ path, effect, list }) => {
      const key = path.join('.');
      const { scope = 'default', at } = origin ?? {};
      if (list.length === 0) return [];
      const written = await Promise.all(files.map((file) => writtenAt(file, path)));
      return list.map((rule): PermissionRule => {
        const file = written.find(({ items }) => items.has(rule));
        return { effect, rule, key, scope: file?.scope ?? scope, ...(file?.items.get(rule) ?? at) };
      });
    }),
  );
  return found.flat();
}
