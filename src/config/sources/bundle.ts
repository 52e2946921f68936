import { createHash } from 'node:crypto';
import { access, mkdtemp, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Json, JsonObject } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import { isObject } from '../../core/json.ts';
import { makeFolder } from '../../files/make-folder.ts';
import type { Problem } from '../config.ts';
import type { Document } from '../document.ts';
import { readConfigBytes } from '../read/read-file.ts';
import { readZip, type ZipFile } from './read-zip.ts';

/** An unpacked `.mcpb` bundle. */
export interface Bundle {
  /** The manifest, converted to a document with `mcpServers`. */
  readonly document: Document;
  readonly folder: string;
  readonly settings: BundleContent['settings'];
}

/** The content of a bundle that the user agrees to. */
export interface BundleContent {
  /** The SHA-256 digest of the file. */
  readonly digest: string;
  readonly name: string;
  /** Its server, as an entry of `mcpServers`. */
  readonly entry: JsonObject;
  /** The variables of its own settings, each with its default. */
  readonly settings: ReadonlyMap<string, string | undefined>;
}

const MAX_BYTES = 100 * 1024 * 1024;
const MANIFEST = 'manifest.json';

/** Opens an `.mcpb` file and reads its manifest. A trusted bundle is unpacked once, below `<home>/bundles`. */
export async function openBundle(
  file: string,
  home: string,
  trusts: (content: BundleContent) => boolean,
): Promise<Bundle | Problem> {
  try {
    const found = await stat(file);
    if (!found.isFile() || found.size > MAX_BYTES)
      throw unusable(`${file} is not a file of at most ${MAX_BYTES} bytes.`);
    const bytes = await readFile(file);
    const digest = createHash('sha256').update(bytes).digest('hex');
    const files = readZip(bytes);
    const manifest = await readManifest(file, files);
    if (!('root' in manifest)) return manifest;
    const { document, ...content } = toBundle(file, manifest);
    if (!trusts({ digest, ...content })) return untrusted(file);
    const { settings } = content;
    return { document, settings, folder: await unpackOnce(files, join(home, 'bundles', digest)) };
  } catch (thrown) {
    const { message, fix } = HeddleError.is(thrown)
      ? thrown
      : unusable(`${file} cannot be opened (${codeOf(thrown)}).`);
    return {
      level: 'error',
      code: 'CONFIG_INVALID',
      message: `${message} Its server is not used.`,
      fix,
      at: start(file),
    };
  }
}

/** Reads the manifest in memory: what the user agrees to is shown before anything is unpacked. */
async function readManifest(file: string, files: readonly ZipFile[]): Promise<Document | Problem> {
  const found = files.find(({ name }) => name === MANIFEST);
  if (found === undefined) throw unusable(`${file} has no ${MANIFEST}.`);
  return readConfigBytes(file, await found.read());
}

async function unpackOnce(files: readonly ZipFile[], folder: string): Promise<string> {
  const bundles = dirname(folder);
  const done = await access(folder).then(
    () => true,
    () => false,
  );
  if (done) return folder;
  makeFolder(bundles, 0o700);
  const temporary = await mkdtemp(join(bundles, '.unpacking-'));
  try {
    for (const { name, read } of files) {
      const path = join(temporary, name);
      makeFolder(dirname(path), 0o700);
      // Executable, all of them: a bundle packed on another system may lack the mode of its programs.
      await writeFile(path, await read(), { mode: 0o700, flag: 'wx' });
    }
    // If another process was faster, its folder is used: the content is the same.
    await rename(temporary, folder).catch((thrown) => access(folder).catch(() => Promise.reject(thrown)));
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
  return folder;
}

const RUNNERS: Readonly<Record<string, string>> = { node: 'node', python: 'python3' };

function toBundle(file: string, manifest: Document): Omit<Bundle, 'folder'> & Omit<BundleContent, 'digest'> {
  const { name: title, server, user_config: userConfig } = manifest.root;
  const name = typeof title === 'string' ? title.replace(/[^A-Za-z0-9_-]+/g, '-') : '';
  if (name === '') throw unusable(`The manifest in ${file} has no \`name\`.`);
  if (!isObject(server)) throw unusable(`The manifest in ${file} has no \`server\`.`);
  const prefix = `HEDDLE_PLUGIN_${name}_`.toUpperCase().replaceAll('-', '_');
  const entry = mapText(entryOf(server), (text) =>
    text.replace(/\$\{user_config\.(\w+)\}/g, (_, key: string) => `\${${prefix}${key.toUpperCase()}}`),
  );
  const settings = Object.entries(isObject(userConfig) ? userConfig : {}).map(([key, field]) => {
    const value = isObject(field) ? field.default : undefined;
    const simple = typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
    return [`${prefix}${key.toUpperCase()}`, simple ? String(value) : undefined] as const;
  });
  const document: Document = {
    file,
    root: { mcpServers: { [name]: entry } },
    findings: [],
    locate: (path, part) => ({ ...manifest.locate(['server', 'mcp_config', ...path.slice(2)], part), file }),
  };
  return { name, entry, document, settings: new Map(settings) };
}

function entryOf({ type, entry_point: entryPoint, mcp_config: config }: JsonObject): JsonObject {
  if (isObject(config)) {
    const { platform_overrides: overrides, ...rest } = config;
    const here = isObject(overrides) ? overrides[process.platform] : undefined;
    return { ...rest, ...(isObject(here) && here) };
  }
  const path = `\${__dirname}/${entryPoint}`;
  const runner = RUNNERS[String(type)];
  return runner === undefined ? { command: path } : { command: runner, args: [path] };
}

function mapText<Value extends Json>(value: Value, change: (text: string) => string): Value;
function mapText(value: Json, change: (text: string) => string): Json {
  if (typeof value === 'string') return change(value);
  if (Array.isArray(value)) return value.map((item) => mapText(item, change));
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, mapText(item ?? null, change)]));
}

const untrusted = (file: string): Problem => ({
  level: 'warn',
  code: 'SERVER_UNTRUSTED',
  message: `${file} came with this project and is untrusted: its server is not used.`,
  fix: 'Run `heddle trust` if you want it.',
  at: start(file),
});

const start = (file: string) => ({ file, line: 1, column: 1 });

const unusable = (message: string) =>
  new HeddleError('CONFIG_INVALID', message, { fix: 'Replace the bundle, or remove it.' });

function codeOf(thrown: unknown): string {
  return thrown instanceof Error && 'code' in thrown ? String(thrown.code) : String(thrown);
}
