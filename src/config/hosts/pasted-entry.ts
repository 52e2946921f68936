import type { Json, JsonObject } from '../../core/call.ts';
import { isObject } from '../../core/json.ts';
import { closest } from '../../core/text/did-you-mean.ts';
import { remoteEntry, stdioEntry } from '../schema/server-schema.ts';
import { TRANSPORT_NAMES, withoutStray } from './from-entry.ts';
import { withHeddleReferences } from './pasted-references.ts';
import type { PastedContext, PastedReport, PastedStep } from './pasted-step.ts';
import { pastedTimeouts } from './pasted-timeout.ts';

/** An entry in Heddle's format. */
export interface PastedEntry {
  readonly entry: JsonObject;
  /** The effect of each key that is not Heddle's. */
  readonly notes: readonly string[];
  /** The tools that the pasted text runs without a confirmation; `*` for all. They are not carried over. */
  readonly approvals: readonly string[];
}

const ALIASES: Readonly<Record<string, string>> = {
  serverUrl: 'url',
  server_url: 'url',
  httpUrl: 'url',
  baseUrl: 'url',
  base_url: 'url',
  environment: 'env',
  http_headers: 'headers',
  transport: 'type',
  transportType: 'type',
  transport_type: 'type',
  workingDirectory: 'cwd',
  working_directory: 'cwd',
};
const APPROVALS: readonly string[] = ['autoApprove', 'alwaysAllow', 'autoApproveTools', 'auto_approve'];
const TOOL_LISTS: readonly string[] = ['includeTools', 'enabledTools', 'enabled_tools', 'allowedTools'];
const DENIED: readonly string[] = ['excludeTools', 'disabledTools', 'disabled_tools'];
const OWN_KEYS: readonly string[] = [...new Set([...Object.keys(stdioEntry.shape), ...Object.keys(remoteEntry.shape)])];

/** Keys of hosts that Heddle ignores, with the reason for the user; '' reports nothing. */
const OTHERS: Readonly<Record<string, string>> = {
  envFile: 'Heddle reads no variables from files. Copy them into `env`.',
  trust: 'in its host it skips confirmations. Decide with `permissions` which tools need no approval.',
  dev: 'it is for developing the server inside VS Code.',
  auth: 'write `oauth` instead.',
  source: '',
  gallery: '',
  version: '',
  name: '',
  id: '',
  title: '',
  icon: '',
};

/** Converts an entry of any host to Heddle's format. Values of wrong types stay; `checkEntry` rejects them. */
export function toPastedEntry(written: JsonObject, context: PastedContext): PastedEntry {
  const changes: string[] = [];
  const notes: string[] = [];
  const report: PastedReport = {
    became: (before, after) => void changes.push(`\`${before}\` becomes ${after}`),
    note: (text) => void notes.push(text),
  };
  const approvals = APPROVALS.flatMap((key) => toolsIn(written[key]));
  const entry = STEPS.reduce((current, step) => step(current, report, context), written);
  return { entry, notes: changes.length > 0 ? [`${changes.join(', ')}.`, ...notes] : notes, approvals };
}

const toolsIn = (value: Json | undefined): readonly string[] =>
  value === true ? ['*'] : Array.isArray(value) ? value.filter((tool) => typeof tool === 'string') : [];

const withoutKeys = (entry: JsonObject, keys: readonly string[]): JsonObject =>
  Object.fromEntries(Object.entries(entry).filter(([key]) => !keys.includes(key)));

/** Moves the members of an object `transport` or `command` up into the entry. */
const flatten: PastedStep = ({ transport, command, ...entry }, report) => {
  const moved = isObject(transport) ? transport : transport === undefined ? {} : { transport };
  const all: JsonObject = { ...entry, ...(command !== undefined && { command }), ...moved };
  if (isObject(all.command)) {
    const { path, args, env } = all.command;
    report.became('command.path', '`command`');
    return { ...all, command: path, ...(args !== undefined && { args }), ...(env !== undefined && { env }) };
  }
  if (!Array.isArray(all.command)) return all;
  const [program, ...words] = all.command as readonly Json[];
  const args = [...words, ...(Array.isArray(all.args) ? all.args : [])];
  report.became('command', '`command` and `args`');
  return { ...all, command: program ?? '', ...(args.length > 0 && { args }) };
};

const rename: PastedStep = (entry, report) => {
  const isSent = (key: string) => Object.hasOwn(ALIASES, key) && entry[ALIASES[key] ?? ''] === undefined;
  const renamed = Object.entries(entry).map(([key, value]) => {
    const own = isSent(key) ? (ALIASES[key] ?? key) : key;
    if (own !== key) report.became(key, `\`${own}\``);
    return [own, value];
  });
  const typed = entry.httpUrl !== undefined && entry.type === undefined && entry.url === undefined;
  return { ...(typed && { type: 'http' }), ...Object.fromEntries(renamed) };
};

const nameTransport: PastedStep = ({ type, ...entry }, report) => {
  if (typeof type !== 'string') return type === undefined ? entry : { type, ...entry };
  const known = Object.hasOwn(TRANSPORT_NAMES, type) ? (TRANSPORT_NAMES[type] ?? type) : type;
  const meant = type === 'local' ? 'stdio' : type === 'remote' ? 'http' : known;
  if (meant !== type) report.became(`type: ${JSON.stringify(type)}`, `\`type: ${JSON.stringify(meant)}\``);
  // A `command` says it already.
  return meant === 'stdio' && entry.command !== undefined ? entry : { type: meant, ...entry };
};

const readSwitch: PastedStep = ({ disabled, isActive, ...entry }, report) => {
  const off = disabled === true || isActive === false;
  const wrong = [disabled, isActive].find((value) => value !== undefined && typeof value !== 'boolean');
  if (wrong !== undefined) return { ...entry, enabled: wrong }; // The check of the entry refuses it.
  if (off) report.became(disabled === true ? 'disabled' : 'isActive', '`enabled: false`');
  const { enabled, ...rest } = entry;
  // True is the default.
  return off || enabled === false ? { ...rest, enabled: false } : enabled === true ? rest : entry;
};

const readToolLists: PastedStep = (entry, report) => {
  const { tools, permissions } = entry;
  const lists = TOOL_LISTS.filter((key) => entry[key] !== undefined);
  const isList = Array.isArray(tools);
  if (isList && tools.includes('*')) report.note('`tools` is left out: Heddle has every tool of the server anyway.');
  else if (isList) lists.push('tools');
  for (const key of lists) {
    report.note(`\`${key}\` is left out: Heddle lists every tool. Hide one with \`tools.<name>.hidden\`.`);
  }
  const rules = isObject(permissions) ? permissions : {};
  const denied = DENIED.flatMap((key) => toolsIn(entry[key]));
  for (const key of DENIED) if (toolsIn(entry[key]).length > 0) report.became(key, '`permissions.deniedTools`');
  const rest = withoutKeys(entry, [...lists, ...DENIED, ...(isList ? ['tools'] : [])]);
  if (denied.length === 0) return rest;
  return { ...rest, permissions: { ...rules, deniedTools: [...toolsIn(rules.deniedTools), ...denied] } };
};

const dropOthers: PastedStep = (entry, report) => {
  const unknown = Object.keys(entry).filter(
    (key) => !OWN_KEYS.includes(key) && !(key === 'name' && entry.type === 'sdk'),
  );
  // A misspelt key stays: the check of the entry names the right one.
  const dropped = unknown.filter((key) => Object.hasOwn(OTHERS, key) || closest(key, OWN_KEYS) === undefined);
  for (const key of dropped) {
    const reason = Object.hasOwn(OTHERS, key) ? OTHERS[key] : 'Heddle has no such setting.';
    if (reason !== '' && !isNothing(entry[key])) report.note(`\`${key}\` is left out: ${reason}`);
  }
  return withoutKeys(entry, dropped);
};

const isNothing = (value: Json | undefined): boolean => value === false || value === '';

/** Writes numbers and booleans in `env` and `headers` as texts; null means "not set". */
const toTexts: PastedStep = (entry) => {
  const maps = (['env', 'headers'] as const).flatMap((field) => {
    const map = entry[field];
    if (!isObject(map)) return [];
    const values = Object.entries(map).filter(([, value]) => value !== null);
    return [[field, Object.fromEntries(values.map(([key, value]) => [key, toText(value ?? '')]))] as const];
  });
  return { ...entry, ...Object.fromEntries(maps) };
};

const toText = (value: Json): Json => (typeof value === 'number' || typeof value === 'boolean' ? String(value) : value);

const dropEmpty: PastedStep = (entry) =>
  withoutKeys(
    entry,
    Object.keys(entry).filter((key) => entry[key] === null || /^(\[\]|\{\})$/.test(JSON.stringify(entry[key] ?? null))),
  );

const dropStray: PastedStep = (entry, report) => {
  if (typeof entry.type === 'string' && !Object.values(TRANSPORT_NAMES).includes(entry.type)) return entry;
  const isRemote = entry.type === undefined ? entry.command === undefined : entry.type !== 'stdio';
  const isClear = isRemote ? entry.command === undefined : entry.url === undefined;
  return isClear ? withoutStray(entry, isRemote ? 'remote' : 'stdio', report) : entry;
};

/** Puts the fields into the order of the schema; misspelt ones come last. */
const inOrder: PastedStep = (entry) => {
  const position = (key: string) => (OWN_KEYS.includes(key) ? OWN_KEYS.indexOf(key) : OWN_KEYS.length);
  return Object.fromEntries(Object.entries(entry).toSorted(([a], [b]) => position(a) - position(b)));
};

const STEPS: readonly PastedStep[] = [
  (entry) => withoutKeys(entry, APPROVALS),
  flatten,
  // Before the keys are renamed: they tell the host, and so the unit and the syntax.
  pastedTimeouts,
  withHeddleReferences,
  rename,
  nameTransport,
  readSwitch,
  readToolLists,
  dropEmpty,
  dropOthers,
  toTexts,
  dropStray,
  inOrder,
];
