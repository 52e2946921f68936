// Writes docs/config.md from the schema of heddle.json.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { configJsonSchema } from '../src/config/schema/json-schema.ts';

const ROOT = join(import.meta.dirname, '..');

/** The part of JSON Schema that Heddle's schema uses. */
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

/** Returns the current text of docs/config.md. */
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
same as JSON Schema, \`heddle config path\` lists the files that are read, and \`heddle config explain\` the values in force.

The file is JSON; comments and trailing commas are allowed. All keys are optional: \`{}\` is a valid configuration. An
unknown key is an error; the message suggests a similar key.

**Completion in editors.** A file that \`heddle add\` creates has a \`$schema\` that refers to a copy of the schema
(\`.heddle/heddle.schema.json\` in a project, \`heddle.schema.json\` in Heddle’s own folder). \`heddle add\` keeps the copy
current. A relative file works offline and matches the version that wrote it; a URL or a path into \`node_modules\` would
not.

## Top level

${table(rowsOf(whole).filter(({ key }) => !key.startsWith('mcpServers.') && key !== '$schema'))}
## A server that is a program

An entry of \`mcpServers\` with a \`command\`: Heddle starts the program and connects to it by stdio.

${table(own(local))}
## A server behind a URL

An entry of \`mcpServers\` with a \`url\`.

${table(own(remote))}
## An in-process server

Only a program that embeds Heddle can register one.

${table(own(sdk))}
## Any server

${table(everywhere)}
## Facts about tools

Under \`tools\` of a server, by the name that the server gives the tool.

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

/** Lists the keys of all levels, parents first. A key with a free name is `<name>`. */
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
  // The default of an object is made of its members' defaults, which have rows of their own.
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
