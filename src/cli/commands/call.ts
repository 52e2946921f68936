import type { Caller, JsonObject } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import type { Command, Input } from '../command.ts';
import type { CommandHeddle } from '../command-heddle.ts';
import type { AdHocServer } from '../input/ad-hoc-server.ts';
import { readArguments, type TypedArguments } from '../input/read-arguments.ts';
import { headersOf } from '../input/read-pairs.ts';
import { type NamedWords, splitName, wholeName } from '../input/target-name.ts';
import { localCaller } from '../local-caller.ts';
import { printResult } from '../print/print-result.ts';
import { isKeyGiven } from '../remote/given-key.ts';
import { ARGS_OPTION, bindTyped, RUN_OPTIONS, runAtTerminal, runOptions, terminalCall } from '../terminal-call.ts';
import { withRunningHeddle } from '../with-heddle.ts';

export const call: Command = {
  summary: 'Call a tool and print its result.',
  usage:
    'heddle call <server.tool> [key=value | key=@file | key:=json …]  |  heddle call <url> <tool> …  |  heddle call -- <command …> :: <tool> …',
  notes: [
    'key=value becomes what the tool wants: a=1 a number, flag=true a boolean, tags=a,b or tags=a tags=b a list,',
    `filter='{"a":1}' an object. Text that is valid as written stays text. key:=json is JSON, whatever the tool wants.`,
    'key=@file is the text of a file, key:=@file its JSON, key=@- stdin, and key=@@x the text @x.',
  ],
  examples: [
    'heddle call github.get_issue number=7',
    'heddle call everything get-sum a=1 b=2',
    `heddle call github.create_issue --args '{"title":"Broken"}' body=@report.md labels=bug,ui --yes`,
    'heddle call http://localhost:3001/mcp echo message=hi',
    `heddle call https://example.com/mcp echo --header "Authorization: Bearer $TOKEN"`,
    'heddle call -- npx -y @modelcontextprotocol/server-everything :: get-sum a=1 b=2',
  ],
  maxPositionals: Number.POSITIVE_INFINITY,
  options: {
    args: ARGS_OPTION,
    header: { type: 'string', value: "'NAME: VALUE'", multiple: true, help: 'Sent to the URL; may be repeated' },
    ...RUN_OPTIONS,
  },
  async run(input) {
    const target = await readTarget(input);
    const { server, words } = target;
    const typed = await readArguments(words, input.text('args'));
    const caller = localCaller();
    const options = {
      ...runOptions(input),
      ...(server && { servers: { [server.name]: server.entry }, scope: 'command' as const }),
    };
    const operate = () =>
      withRunningHeddle(input, options, (heddle) => runCall(heddle, typed, { target, caller, input }));
    const result = await operate()
      .catch(async (thrown) => {
        const error = HeddleError.from(thrown);
        // A server given on the command line has no entry that a sign-in could belong to.
        // The sign-in of a user at the terminal is not that of a key.
        if (error.code !== 'AUTH_NEEDED' || server || isKeyGiven(input)) throw error;
        const { retryAfterSignIn } = await import('../auth/retry-after-sign-in.ts');
        return retryAfterSignIn(input, error, operate);
      })
      .catch(async (thrown) => {
        const { advised } = await import('./explain-call-error.ts');
        throw advised(HeddleError.from(thrown), server);
      });
    return printResult(result, input.flag('json'));
  },
};

interface Site {
  readonly target: CallTarget;
  readonly caller: Caller;
  readonly input: Input;
}

async function runCall(heddle: CommandHeddle, typed: TypedArguments, { target, caller, input }: Site) {
  const { server, first } = target;
  const name = server ? `${server.name}.${first}` : await wholeName(heddle, caller, target);
  const call = terminalCall({ kind: 'tool', name, input: typed.whole }, { caller, input });
  const bound = { ...call, input: await bindTyped(heddle, call, typed) };
  return runAtTerminal(heddle, bound, input).catch(async (thrown) => {
    const { explained, withRuleLocation } = await import('./explain-call-error.ts');
    const error = await explained(HeddleError.from(thrown), bound, { heddle, server });
    throw withRuleLocation(error, heddle.configuration(caller));
  });
}

interface CallTarget extends NamedWords {
  readonly server?: AdHocServer;
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
  const named = splitName(call);
  if (named === undefined) {
    const { listToolsFix } = await import('../input/ad-hoc-server.ts');
    throw new HeddleError('USAGE_INVALID', 'No tool to call was given.', {
      fix: listToolsFix(server ? positionals.slice(0, 1) : []),
    });
  }
  return server ? { first: named.first, words: call.slice(1), server } : named;
}

interface Named {
  readonly server?: AdHocServer;
  readonly call: readonly string[];
}

async function adHoc({ positionals: [url = '', ...call], rest }: Input, headers?: JsonObject): Promise<Named> {
  const { serverAt, splitCommand } = await import('../input/ad-hoc-server.ts');
  return rest ? splitCommand(rest) : { server: serverAt(url, headers), call };
}
