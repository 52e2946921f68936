import { oneLine } from '../../core/text/visible-text.ts';
import { openSecretStore } from '../../open-heddle.ts';
import { noteAct } from '../acts.ts';
import type { Input } from '../command.ts';
import { askYes, canAsk } from '../input/ask.ts';
import { notice, printStatement } from '../print/print-line.ts';
import { findInlineSecrets, type InlineSecret, withReferences } from './inline-secrets.ts';
import type { NamedServer } from './new-servers.ts';

/** Moves secrets out of entries into the store: with `--secret`, or if the user agrees. Else prints a warning. */
export async function settleSecrets(
  servers: readonly NamedServer[],
  file: string,
  input: Input,
): Promise<readonly NamedServer[]> {
  const settled: NamedServer[] = [];
  for (const { name, entry } of servers) {
    const moved: InlineSecret[] = [];
    for (const secret of findInlineSecrets(name, entry)) if (await shouldMove(secret, file, input)) moved.push(secret);
    if (!input.flag('dry-run')) await store(moved);
    settled.push({ name, entry: withReferences(entry, moved) });
  }
  return settled;
}

async function shouldMove({ field, key }: InlineSecret, file: string, input: Input): Promise<boolean> {
  // A secret that was typed without an echo is not written to a file.
  if (input.flag('secret') || (field === 'oauth' && input.flag('client-secret'))) return true;
  if (canAsk() && !input.flag('dry-run') && !input.flag('json')) {
    return askYes(`${key} looks like a secret. Keep it in the secret store instead of ${file}?`);
  }
  const message = oneLine(`${key} looks like a secret and goes into ${file} as plain text.`);
  printStatement(
    { start: 'warning: ', message, fix: 'Add `--secret` to keep it in the secret store.' },
    process.stderr,
  );
  return false;
}

async function store(secrets: readonly InlineSecret[]): Promise<void> {
  if (secrets.length === 0) return;
  const opened = await openSecretStore();
  for (const { name, value } of secrets) {
    await opened.set(name, value);
    noteAct({ secretSet: name });
    notice(`The secret ${name} is in the ${opened.backend === 'file' ? 'secret store' : 'keychain'}.`);
  }
}
