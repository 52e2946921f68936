import { writtenServers } from '../../config/edit/edit-servers.ts';
import { oneLine } from '../../core/text/visible-text.ts';
import { readTextFile } from '../../files/edit-file.ts';
import { openSecretStore } from '../../open-heddle.ts';
import { noteAct } from '../acts.ts';
import type { Input, Option } from '../command.ts';
import { notice, printStatement } from '../print/print-line.ts';
import {
  findInlineSecrets,
  findMixedSecrets,
  type InlineSecret,
  type SecretPart,
  type StoredSecrets,
  secretName,
  withReferences,
} from './inline-secrets.ts';
import type { NamedServer } from './new-servers.ts';

/** The option of commands that write servers of a user or another host. */
export const PLAIN_OPTION: Option = {
  type: 'boolean',
  help: 'Keep secrets as plain text in the file; without it they go into the secret store',
};

/** Servers whose secrets are moved, and the names of these secrets. */
export interface SettledServers {
  readonly servers: readonly NamedServer[];
  readonly secrets: readonly string[];
}

/**
 * Moves secrets out of entries into the store, unless `--plain` keeps them. Prints which. A secret that was typed without
 * an echo is never written to a file. Only `--force` replaces stored secrets: those of the entry that it replaces.
 */
export async function settleSecrets(
  given: readonly NamedServer[],
  file: string,
  input: Input,
): Promise<SettledServers> {
  const servers: NamedServer[] = [];
  const secrets: string[] = [];
  for (const { name, entry } of given) {
    const replaced = input.flag('force') ? await writtenEntry(name, file) : '';
    const found = await placeSecrets({ name, entry }, replaced);
    const isTyped = ({ path }: InlineSecret) => path[0] === 'oauth' && input.flag('client-secret');
    const moved = input.flag('plain') ? found.filter(isTyped) : found;
    for (const { key } of found.filter((one) => !moved.includes(one))) warnOfPlain(key, name, { file, fix: UNPLAIN });
    for (const key of findMixedSecrets(entry)) warnOfPlain(key, name, { file, fix: UNMIX });
    const parts = moved.flatMap((secret) => secret.parts);
    if (input.flag('dry-run')) for (const part of parts) notice(`${part.name} would go into the secret store.`);
    else await store(parts);
    secrets.push(...parts.map((part) => part.name));
    servers.push({ name, entry: withReferences(entry, moved) });
  }
  return { servers, secrets };
}

/** Finds the secrets of an entry. Their names replace no stored secret, except those of the `replaced` entry. */
export async function placeSecrets({ name, entry }: NamedServer, replaced = ''): Promise<readonly InlineSecret[]> {
  const found = findInlineSecrets(name, entry);
  return found.length === 0 ? found : findInlineSecrets(name, entry, await storedSecrets(name, replaced));
}

const writtenEntry = async (name: string, file: string): Promise<string> => {
  const text = await readTextFile(file);
  return text.trim() === '' ? '' : JSON.stringify(writtenServers(text).get(name) ?? '');
};

/** Reads the secrets of a server from the store, without those of the replaced entry. */
async function storedSecrets(server: string, replaced: string): Promise<StoredSecrets> {
  const opened = await openSecretStore();
  const all = (await opened.names()).map(({ name }) => name).filter((name) => name.startsWith(secretName(server)));
  const names = all.filter((name) => !replaced.includes(`\${secret:${name}}`));
  const values = names.map(async (name) => [name, await opened.get(name).catch(() => undefined)] as const);
  return new Map(await Promise.all(values));
}

const UNPLAIN = 'Leave out `--plain` to keep it in the secret store.';
const UNMIX = 'Set the whole value with `heddle secret set NAME`, and write `${secret:NAME}` in its place.';

function warnOfPlain(
  key: string,
  server: string,
  { file, fix }: { readonly file: string; readonly fix: string },
): void {
  const message = oneLine(`${key} of ${server} looks like a secret and goes into ${file} as plain text.`);
  printStatement({ start: 'warning: ', message, fix }, process.stderr);
}

async function store(parts: readonly SecretPart[]): Promise<void> {
  if (parts.length === 0) return;
  const opened = await openSecretStore();
  for (const { name, value } of parts) {
    const before = await opened.get(name).catch(() => undefined);
    await opened.set(name, value);
    noteAct({ secretSet: name });
    const replaces = before === undefined || before === value ? '' : ', in place of its earlier value';
    notice(`The secret ${name} is in the ${opened.backend === 'file' ? 'secret store' : 'keychain'}${replaces}.`);
  }
}
