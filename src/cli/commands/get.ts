import colors from 'picocolors';
import { previewExpanded, previewValue } from '../../config/edit/preview.ts';
import { redact } from '../../config/read/redact.ts';
import { readConfig } from '../../config/read-config.ts';
import type { Json } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import { closest } from '../../core/text/did-you-mean.ts';
import { oneLine, quoteName } from '../../core/text/visible-text.ts';
import { CONFIG_OPTION, type Command, type Input, JSON_OPTION, TRUST_OPTION } from '../command.ts';
import { oneName } from '../edit/edit-scope.ts';
import { localCaller } from '../local-caller.ts';
import { indentedJson } from '../print/escape-control.ts';
import { printJson } from '../print/print-json.ts';
import { printProblems } from '../print/print-problems.ts';
import { openOptions, withRunningHeddle } from '../with-heddle.ts';

export const get: Command = {
  summary: 'Show one server as it is written and as it is in force; secrets stay hidden.',
  usage: 'heddle get NAME',
  examples: ['heddle get github', 'heddle get github --json'],
  maxPositionals: Number.POSITIVE_INFINITY,
  options: { config: CONFIG_OPTION, 'trust-project': TRUST_OPTION, json: JSON_OPTION },
  async run(input) {
    const name = oneName(input, 'server to show');
    const { servers, settings } = await readConfig(openOptions(input));
    const server = servers.get(name);
    const builtIn = Object.entries(settings.builtins).find(([key]) => key === name)?.[1];
    if (server === undefined && builtIn) return showBuiltIn(name, redact(builtIn as unknown as Json), input);
    if (server === undefined) throw unknownServer(name, [...servers.keys(), ...Object.keys(settings.builtins)]);
    const { scope, at, shadowed, problem } = server;
    const written = server.written === undefined ? null : previewValue(server.written);
    const inForce =
      server.entry === undefined ? null : previewExpanded(server.entry as unknown as Json, server.written);
    const transport = server.entry?.type === 'http' ? await transportInUse(input, name) : undefined;
    if (input.flag('json')) {
      const found = transport === undefined ? {} : { transport };
      printJson({ name, scope, ...at, ...found, written, inForce, shadowed, ...(problem && { problem }) });
      return 0;
    }
    const where = at ? `${scope} ${at.file}:${at.line}:${at.column}` : scope;
    const others = shadowed
      .map((other) => `  overrides ${other.scope} ${oneLine(other.at.file)}:${other.at.line}\n`)
      .join('');
    const spoken = transport === 'sse' ? '  speaks HTTP+SSE (sse), as found at its last connect\n' : '';
    process.stdout.write(
      `${colors.bold(oneLine(name))}  ${oneLine(where)}\n${others}${spoken}${block('written', written)}${block('in force', inForce)}`,
    );
    if (problem) printProblems([problem]);
    return 0;
  },
};

/** Shows the settings of a server that ships with Heddle. They may come from several files. */
function showBuiltIn(name: string, inForce: Json, input: Input): number {
  if (input.flag('json')) printJson({ name, scope: 'builtin', written: null, inForce, shadowed: [] });
  else process.stdout.write(`${colors.bold(name)}  builtin\n${block('in force', inForce)}`);
  return 0;
}

/** Returns the transport that a server with a `url` speaks, as of its last connect. Starts no server. */
async function transportInUse(input: Input, name: string): Promise<string | undefined> {
  const options = { ...openOptions(input), onProblems: () => {} };
  const list = withRunningHeddle(input, options, (heddle) => heddle.servers.list(localCaller()));
  const servers = await list.catch(() => []); // The entry is shown also when the store cannot be opened.
  return servers.find((server) => server.name === name)?.transport;
}

function block(title: string, value: Json): string {
  if (value === null) return '';
  return `\n${colors.dim(title)}\n${indentedJson(value, process.stdout)}\n`;
}

function unknownServer(name: string, known: Iterable<string>): HeddleError {
  const meant = closest(name, known);
  return new HeddleError('NAME_UNKNOWN', `There is no server \`${name}\`.`, {
    fix: meant === undefined ? 'Run `heddle list servers` to see all.' : `Did you mean \`${quoteName(meant)}\`?`,
  });
}
