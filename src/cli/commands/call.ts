import { newCallId } from '../../core/call/call-id.ts';
import { type AskUser, type CompleteResult, runToCompletion } from '../../core/call/run-to-completion.ts';
import type { Call, Caller, ClientCapabilities, JsonObject } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import { withPlainNumbers } from '../../core/exact-numbers.ts';
import type { HeddleOptions } from '../../open-heddle.ts';
import { CONFIG_OPTION, type Command, GATEWAY_OPTIONS, type Input, readNumber, TRUST_OPTION } from '../command.ts';
import type { CommandHeddle } from '../command-heddle.ts';
import type { AdHocServer } from '../input/ad-hoc-server.ts';
import { untilInterrupted } from '../input/interrupt.ts';
import { readArguments } from '../input/read-arguments.ts';
import { headersOf } from '../input/read-pairs.ts';
import { localCaller } from '../local-caller.ts';
import { following, indented } from '../print/escape-control.ts';
import { transientNotice } from '../print/print-line.ts';
import { printFileProblems } from '../print/print-problems.ts';
import { printResult } from '../print/print-result.ts';
import { openOptions, withRunningHeddle } from '../with-heddle.ts';

const MAX_TIMEOUT_MS = 600_000;
// Declared without a terminal, too: the server then gets a decline, and the user the reason.
const CAPABILITIES: ClientCapabilities = { form: true, url: true, sampling: false, samplingTools: false, roots: false };

export const call: Command = {
  summary: 'Call a tool and print its result.',
  usage:
    'heddle call <server.tool> [key=text | key:=json …]  |  heddle call <url> <tool> …  |  heddle call -- <command …> :: <tool> …',
  examples: [
    'heddle call filesystem.fs_read_file path=README.md',
    `heddle call github.create_issue --args '{"title":"Broken"}' --yes`,
    'heddle call http://localhost:3001/mcp echo message=hi',
    `heddle call https://example.com/mcp echo --header "Authorization: Bearer $TOKEN"`,
    'heddle call -- npx -y @modelcontextprotocol/server-everything :: get-sum a:=1 b:=2',
  ],
  maxPositionals: Number.POSITIVE_INFINITY,
  options: {
    args: {
      type: 'string',
      value: 'JSON',
      help: 'All arguments as one JSON object; @file reads a file, - reads stdin',
    },
    timeout: {
      type: 'string',
      value: 'MS',
      help: 'Longest wait for the result (default: the configured timeout, else 30000)',
    },
    header: { type: 'string', value: "'NAME: VALUE'", multiple: true, help: 'Sent to the URL; may be repeated' },
    yes: { type: 'boolean', help: 'Agree beforehand when the call needs approval' },
    config: CONFIG_OPTION,
    'trust-project': TRUST_OPTION,
    ...GATEWAY_OPTIONS,
    json: { type: 'boolean', help: 'Print the whole result as JSON' },
  },
  async run(input) {
    const { server, tool, words } = await readTarget(input);
    const json = input.flag('json');
    const argument = await readArguments(words, input.text('args'));
    const caller = localCaller();
    const options: HeddleOptions = {
      ...openOptions(input),
      listWaitMs: Number.POSITIVE_INFINITY,
      user: { principal: caller.id, capabilities: CAPABILITIES },
      ...(server && { servers: { [server.name]: server.entry }, scope: 'command' as const }),
      onProblems: printFileProblems,
    };
    const name = server ? `${server.name}.${tool}` : tool;
    const call = toCall(name, argument, { caller, input });
    const result = await withRunningHeddle(input, options, (heddle) =>
      run(heddle, call, input).catch(async (thrown) => {
        const { explained, withRuleLocation } = await import('./explain-call-error.ts');
        const error = await explained(HeddleError.from(thrown), call, { heddle, server });
        throw withRuleLocation(error, heddle.configuration(caller));
      }),
    ).catch(async (thrown) => {
      const { advised } = await import('./explain-call-error.ts');
      throw advised(HeddleError.from(thrown), { words, ...(server && { server }) });
    });
    return printResult(result, json);
  },
};

interface CallTarget {
  readonly server?: AdHocServer;
  readonly tool: string;
  readonly words: readonly string[];
}

async function readTarget(input: Input): Promise<CallTarget> {
  const { positionals, rest } = input;
  const headers = headersOf(input);
  const isAdHoc = rest !== undefined || /^https?:\/\//i.test(positionals[0] ?? '');
  const { server, call }: Named = isAdHoc ? await adHoc(input, headers) : { call: positionals };
  if (headers && server?.entry.url === undefined) {
    throw new HeddleError('USAGE_INVALID', '--header is for a server that is called by its URL.', {
      fix: 'Leave --header out; the headers of a configured server are in its `headers`.',
    });
  }
  const [tool, ...words] = call;
  if (tool === undefined || tool.includes('=')) {
    throw new HeddleError('USAGE_INVALID', 'No tool to call was given.', {
      fix: 'Run `heddle list tools` to see them.',
    });
  }
  return { tool, words, ...(server && { server }) };
}

interface Named {
  readonly server?: AdHocServer;
  readonly call: readonly string[];
}

async function adHoc({ positionals: [url = '', ...call], rest }: Input, headers?: JsonObject): Promise<Named> {
  const { serverAt, splitCommand } = await import('../input/ad-hoc-server.ts');
  return rest ? splitCommand(rest) : { server: serverAt(url, headers), call };
}

function toCall(name: string, argument: JsonObject, { caller, input }: { caller: Caller; input: Input }): Call {
  const timeoutMs = readNumber('timeout', input.text('timeout'), MAX_TIMEOUT_MS);
  return {
    id: newCallId(),
    kind: 'tool',
    name,
    input: argument,
    meta: {},
    caller,
    capabilities: CAPABILITIES,
    acceptsTask: true,
    options: timeoutMs === undefined ? {} : { timeoutMs },
    signal: untilInterrupted(),
    ...(input.flag('yes') && { approved: 'self' as const }),
    ...(process.stderr.isTTY && { onProgress: showProgress }),
  };
}

async function run(heddle: CommandHeddle, call: Call, input: Input): Promise<CompleteResult> {
  const describe = ({ caller, name, signal }: Call) => heddle.catalog.describe(caller, name, signal);
  const through = (one: Call) => runToCompletion(heddle.dispatch, one, { ask: askUser, describe });
  try {
    return await through(call);
  } catch (thrown) {
    const { code, message } = HeddleError.from(thrown);
    if (code !== 'APPROVAL_REQUIRED' || input.flag('json')) throw thrown;
    const [{ askNo, canAsk }, { showWhole }] = await Promise.all([
      import('../input/ask.ts'),
      import('../print/show-whole.ts'),
    ]);
    if (!canAsk()) throw thrown;
    const args = indented(JSON.stringify(call.input, null, 2), process.stderr);
    const whole = `${following('', message, process.stderr)}\nArguments:\n${args}`;
    if (!(await showWhole(whole)) || !(await askNo('Run it?'))) throw refused(call);
    return through({ ...call, id: newCallId(), approved: 'self' });
  }
}

const askUser: AskUser = async (inputRequests, server, signal) => {
  if (process.stderr.isTTY) process.stderr.write('\r\x1b[K'); // Clears a line of progress.
  const { askAtTerminal } = await import('../input/ask-elicitation.ts');
  return askAtTerminal(withPlainNumbers(inputRequests), server, signal);
};

const refused = ({ name }: Call) =>
  new HeddleError('PERMISSION_DENIED', `You said no, so ${name} was not called.`, {
    fix: 'Call it again when you have changed your mind.',
  });

function showProgress(params: JsonObject): void {
  const { progress, total, message } = withPlainNumbers(params);
  const share = typeof total === 'number' ? `${progress}/${total}` : String(progress);
  transientNotice(`${share} ${message ?? ''}`);
  if (progress === total) process.stderr.write('\r\x1b[K');
}
