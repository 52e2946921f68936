// Writes docs/config.md from the one schema of heddle.json.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { configJsonSchema } from '../src/config/schema/json-schema.ts';

const ROOT = join(import.meta.dirname, '..');

/** As much of a JSON Schema as ours uses. */
interface Schema {
  readonly type?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly additionalProperties?: Schema | false;
  readonly anyOf?: readonly Schema[];
}

interface Row {
  readonly key: string;
  readonly schema: Schema;
  readonly required: boolean;
}

/** docs/config.md as it should read now. */
export function configPage(): string {
  const whole = configJsonSchema() as Schema;
  const servers = serverSchemas(whole);
  const [first] = servers;
  const shared = rowsOf(first ?? {}).filter((row) => servers.every((one) => has(one, row)));
  const own = (kind: Schema) => rowsOf(kind).filter((row) => !shared.some(({ key }) => key === row.key));
  const [local = {}, remote = {}, sdk = {}] = servers;
  const everywhere = shared.filter(({ key }) => !key.startsWith('tools.'));
  const tools = shared.filter(({ key }) => key.startsWith('tools.<name>.'));
  return `# heddle.json

Written by \`npm run docs\` from the schema in \`src/config/\`; do not edit it here. \`heddle config schema\` prints the
same as JSON Schema, \`heddle config path\` says which files are read, and \`heddle config explain\` what is in force.

The file is JSON; comments and trailing commas are fine. Everything may be left out: \`{}\` is a good configuration. A key
that is not listed here is an error, with a guess at what was meant.

**Completion in editors.** A file that \`heddle add\` begins has a \`$schema\` that names a copy of the schema near it
(\`.heddle/heddle.schema.json\` in a project, \`heddle.schema.json\` in Heddle’s own folder), which \`heddle add\` keeps
current: a relative file works offline and always fits the version that wrote it, which a URL or a path into
\`node_modules\` would not.

## Top level

${table(rowsOf(whole).filter(({ key }) => !key.startsWith('mcpServers.') && key !== '$schema'))}
## A server that is a program

One entry of \`mcpServers\` with a \`command\`: Heddle starts it and speaks to it over its pipes.

${table(own(local))}
## A server behind a URL

One entry of \`mcpServers\` with a \`url\`.

${table(own(remote))}
## A server in process

Only a program that embeds Heddle can register one.

${table(own(sdk))}
## Any server

${table(everywhere)}
## Facts about tools

Under \`tools\` of a server, by the name the server gives the tool.

${table(tools.map((row) => ({ ...row, key: row.key.replace('tools.<name>.', '') })))}`
    .trimEnd()
    .concat('\n');
}

function serverSchemas({ properties }: Schema): readonly Schema[] {
  const entries = properties?.mcpServers?.additionalProperties;
  return entries ? (entries.anyOf ?? []) : [];
}

function has(schema: Schema, row: Row): boolean {
  return rowsOf(schema).some((other) => JSON.stringify(other) === JSON.stringify(row));
}

/** Every key at any depth, the outer ones first; what may have any name is `<name>`. */
function rowsOf(schema: Schema, start = ''): readonly Row[] {
  const { properties = {}, required = [] } = schema;
  return Object.entries(properties).flatMap(([name, member]) => {
    const key = `${start}${name}`;
    return [{ key, schema: member, required: required.includes(name) }, ...rowsBelow(member, key)];
  });
}

function rowsBelow(schema: Schema, key: string): readonly Row[] {
  if (schema.properties !== undefined) return rowsOf(schema, `${key}.`);
  if (schema.items?.properties !== undefined) return rowsOf(schema.items, `${key}[].`);
  const shaped = schema.anyOf?.find(({ properties }) => properties !== undefined);
  if (shaped !== undefined) return rowsOf(shaped, `${key}.`);
  const any = schema.additionalProperties;
  return any && any.properties !== undefined ? rowsOf(any, `${key}.<name>.`) : [];
}

function table(rows: readonly Row[]): string {
  const lines = rows.map(({ key, schema, required }) => {
    const cells = [`\`${key}\``, typeOf(schema), required ? 'required' : defaultOf(schema), schema.description ?? ''];
    return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  });
  return `| key | type | default | |\n|---|---|---|---|\n${lines.join('\n')}\n`;
}

function defaultOf(schema: Schema): string {
  // An object that is filled from its own members' defaults says nothing of its own.
  return schema.default === undefined || schema.properties !== undefined ? '' : `\`${JSON.stringify(schema.default)}\``;
}

function typeOf(schema: Schema): string {
  if (schema.const !== undefined) return `\`${JSON.stringify(schema.const)}\``;
  if (schema.enum !== undefined) return schema.enum.map((value) => `\`${JSON.stringify(value)}\``).join(' | ');
  if (schema.anyOf !== undefined) return schema.anyOf.map(typeOf).join(' | ');
  if (schema.type === 'array') return `list of ${typeOf(schema.items ?? {})}`;
  if (schema.additionalProperties && schema.type === 'object') return 'object, by name';
  return schema.type ?? 'anything';
}

if (import.meta.main) writeFileSync(join(ROOT, 'docs', 'config.md'), configPage());
