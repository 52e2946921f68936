import colors from 'picocolors';
import type { Caller, Target } from '../../core/call.ts';
import type { ServerStatus } from '../../core/records/server-status.ts';
import { counted } from '../../core/text/counted.ts';
import { cutAndEscapeBreaks, cutText } from '../../core/text/cut-text.ts';
import { oneLine, quoteName } from '../../core/text/visible-text.ts';
import type { CommandHeddle } from '../command-heddle.ts';
import { cutToWidth, MAX_PRINTED_CHARS } from '../print/escape-control.ts';
import { callName } from '../print/function-signature.ts';
import { whileStarting } from '../print/missing-servers.ts';
import { printJson } from '../print/print-json.ts';
import { notice, printStatement } from '../print/print-line.ts';
import { stateOf } from '../print/state-label.ts';
import { visibleServers } from '../remote/visible-servers.ts';
import { listCatalogEntries } from './list-catalog.ts';

/** A server and its tools, for `heddle describe <server>`. */
export interface DescribedServer {
  readonly status: ServerStatus;
  readonly tools: readonly Target[];
}

/** Finds the server of this name and lists its tools, unless a known tool has the same name. Starts no other server. */
export async function serverNamed(
  heddle: CommandHeddle,
  by: Caller,
  name: string,
): Promise<DescribedServer | undefined> {
  const statusOf = async () => (await visibleServers(heddle, by))?.find((one) => one.name === name);
  if ((await statusOf()) === undefined) return undefined;
  const tools = await whileStarting(heddle, by, () => listCatalogEntries(heddle, by, { server: name }));
  const known = await listCatalogEntries(heddle, by, { waitMs: 0 });
  if (known.some((tool) => tool.name === name || tool.publicName === name)) return undefined;
  const status = await statusOf();
  return status && { status, tools };
}

/** Prints the state of a server and its tools, or the same as JSON. */
export function printServer({ status, tools }: DescribedServer, asJson: boolean): void {
  const { name, scope, transport, reason, fix, resources = 0, prompts = 0 } = status;
  if (asJson) {
    printJson({ kind: 'server', ...status, tools: tools.map(toRow) });
    return;
  }
  const also = [counted(tools.length, 'tool'), counted(resources, 'resource'), counted(prompts, 'prompt')].join(', ');
  const title = oneLine(`a server: ${transport}, scope ${scope}, ${stateOf(status)}`);
  process.stdout.write(`${colors.bold(oneLine(name))}\n${title}\n${oneLine(also)}\n`);
  if (reason) printStatement({ start: '', message: reason, fix }, process.stdout);
  const width = tools.reduce((widest, tool) => Math.max(widest, tool.name.length), 0);
  if (tools.length > 0) process.stdout.write('\n');
  for (const { name: tool, description } of tools.map(toRow)) {
    const [about = ''] = cutText(description, MAX_PRINTED_CHARS).split('\n');
    const line = `  ${oneLine(tool).padEnd(width)}  ${cutAndEscapeBreaks(about, MAX_PRINTED_CHARS)}`.trimEnd();
    process.stdout.write(`${cutToWidth(line, (process.stdout.columns ?? Number.POSITIVE_INFINITY) - 1)}\n`);
  }
  const [first] = tools;
  const one = first === undefined ? '' : `One tool in full: heddle describe ${quoteName(callName(first))} · `;
  notice(`${one}its connection: heddle doctor ${quoteName(name)}`.replace(/^i/, 'I'));
}

const toRow = ({ name, publicName, definition: { description } }: Target) => ({
  name,
  publicName,
  description: typeof description === 'string' ? description : '',
});
