import { scopeDefining } from '../../config/edit/edit-scopes.ts';
import { withoutServer, writtenServers } from '../../config/edit/edit-servers.ts';
import { readConfig } from '../../config/read-config.ts';
import type { Json } from '../../core/call.ts';
import { openSecretStore } from '../../open-heddle.ts';
import { type Command, JSON_OPTION } from '../command.ts';
import { changeFile, DRY_RUN_OPTION } from '../edit/change-file.ts';
import { oneName, placesOf, readScope, SCOPE_OPTION } from '../edit/edit-scope.ts';
import { explainUnknown } from '../edit/explain-unknown.ts';
import { noticeWithoutForce } from '../edit/managed-servers.ts';
import { notice } from '../print/print-line.ts';

export const remove: Command = {
  summary: 'Remove a server from the file that has it.',
  usage: 'heddle remove NAME [--scope SCOPE]',
  examples: ['heddle remove time', 'heddle remove time --scope user --dry-run'],
  maxPositionals: Number.POSITIVE_INFINITY,
  options: { scope: SCOPE_OPTION, 'dry-run': DRY_RUN_OPTION, json: JSON_OPTION },
  async run(input) {
    const name = oneName(input, 'server to remove');
    const config = await readConfig();
    const { file, scope } = await explainUnknown(config, name, scopeDefining(placesOf(config), name, readScope(input)));
    const { before } = await changeFile(
      {
        file,
        edit: (before) => withoutServer(before, name),
        report: { removed: name, scope },
        summary: `Removed ${name} from ${file} (${scope}).`,
      },
      input,
    );
    noticeWithoutForce(config, name);
    if (input.flag('dry-run')) return 0;
    const { servers } = await readConfig();
    const left = servers.get(name)?.at;
    if (left) notice(`${name} is still in ${left.file}:${left.line}, which is active now.`);
    const rest = JSON.stringify([...servers.values()].map(({ written }) => written));
    await noticeSecrets(writtenServers(before).get(name), rest);
    return 0;
  },
};

/** Prints which secrets of a removed entry stay in the store, unless the rest of the configuration names them. */
async function noticeSecrets(removed: Json | undefined, rest: string): Promise<void> {
  const text = JSON.stringify(removed ?? null);
  const named = new Set([...text.matchAll(/\$\{secret:([\w.-]+)\}/g)].map(([, name = '']) => name));
  const unused = [...named].filter((name) => !rest.includes(`\${secret:${name}}`));
  if (unused.length === 0) return;
  const stored = new Set((await (await openSecretStore()).names()).map(({ name }) => name));
  for (const name of unused.filter((one) => stored.has(one))) {
    notice(
      `The secret ${name} stays in the store: another project may use it. \`heddle secret rm ${name}\` removes it.`,
    );
  }
}
