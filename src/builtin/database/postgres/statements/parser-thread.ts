import { parentPort } from 'node:worker_threads';
import type { ParserReply } from './statement-parser.ts';

const port = parentPort;
if (!port) throw new Error('This module runs in a thread of its own.');

const loading = import('libpg-query').then(async ({ loadModule, parseSync }) => {
  await loadModule();
  return parseSync;
});
loading.catch(() => {}); // Each statement reports it.

port.on('message', async (sql: string) => port.postMessage(await reply(sql)));

async function reply(sql: string): Promise<ParserReply> {
  const parse = await loading.catch((cause: unknown) => String(cause));
  if (typeof parse === 'string') return { missing: parse };
  try {
    return { tree: JSON.stringify(parse(sql)) };
  } catch (thrown) {
    const { sqlDetails } = thrown as {
      readonly sqlDetails?: { readonly message: string; readonly cursorPosition: number };
    };
    // An overflow leaves the memory of the parser in an undefined state.
    if (!sqlDetails) return { broken: true };
    return { syntax: { message: sqlDetails.message, position: sqlDetails.cursorPosition } };
  }
}
