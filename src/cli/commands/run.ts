import type { Caller, JsonObject } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import type { WorkflowChoice } from '../../core/records/workflow-api.ts';
import { escapeControlCharacters } from '../../core/text/visible-text.ts';
import { CONFIG_OPTION, type Command, GATEWAY_OPTIONS, type Input, TRUST_OPTION } from '../command.ts';
import type { CommandHeddle } from '../command-heddle.ts';
import { bindArguments } from '../input/bind-arguments.ts';
import { untilInterrupted } from '../input/interrupt.ts';
import { readArguments, type TypedArguments } from '../input/read-arguments.ts';
import { readDuration } from '../input/read-duration.ts';
import { localCaller } from '../local-caller.ts';
import { functionSignature } from '../print/function-signature.ts';
import { printJson } from '../print/print-json.ts';
import { notice, print } from '../print/print-line.ts';
import { printPlan } from '../runs/print-workflow.ts';
import { type RunSite, type RunToStart, runWorkflow, startAtTerminal } from '../runs/run-at-terminal.ts';
import { lintError } from '../runs/run-errors.ts';
import { runsCommand } from '../runs/runs-command.ts';
import { explainUntrusted, untrustedWorkflows, workflowRunOptions } from '../runs/untrusted-workflows.ts';
import { resolveCodeFile, workflowChoice } from '../runs/workflow-choice.ts';
import { withRunningHeddle } from '../with-heddle.ts';

export const runWorkflowCommand: Command = {
  summary: 'Run a workflow and print its output. A running gateway executes it.',
  usage: 'heddle run <name | file.yaml | file.json | file.ts> [key=value | key=@file | key:=json …]',
  notes: [
    'Arguments are written as for `heddle call`. Progress goes to stderr, the output to stdout.',
    'A .ts file is code: it has to be a workflow of the configuration, and trusted.',
    'Ctrl-C asks whether to cancel the run or to leave it; `heddle runs resume` goes on with a run that was left.',
  ],
  examples: [
    'heddle run research-digest query="durable execution"',
    'heddle run ./digest.yaml query=mcp --dry-run',
    'heddle run research-digest --input @input.json --json',
    'heddle run nightly --detach',
    'heddle run research-digest --export mermaid',
  ],
  maxPositionals: Number.POSITIVE_INFINITY,
  options: {
    input: {
      type: 'string',
      value: 'JSON',
      help: 'The whole input as one JSON object; @file reads a file, - reads stdin',
    },
    'dry-run': { type: 'boolean', help: 'Show the plan, permissions and estimates; call no tool' },
    detach: { type: 'boolean', help: 'Print the id of the run and do not wait for it' },
    timeout: { type: 'string', value: 'TIME', help: 'End the run after this time, such as 90s or 2h' },
    yes: {
      type: 'boolean',
      help: 'Agree beforehand to the workflow and to the steps that you alone may approve; not with --detach',
    },
    'wait-approval': {
      type: 'string',
      value: 'TIME',
      help: 'Wait this long for an approver, such as 10m, instead of asking here',
    },
    export: { type: 'string', value: 'FORMAT', help: 'Print the workflow as a chart and run nothing: mermaid' },
    config: CONFIG_OPTION,
    'trust-project': TRUST_OPTION,
    ...GATEWAY_OPTIONS,
    json: { type: 'boolean', help: 'Print the whole result, the plan or the chart as JSON' },
  },
  async run(input) {
    const [word, ...words] = input.positionals;
    if (word === undefined || word.includes('=')) {
      throw new HeddleError('USAGE_INVALID', 'No workflow to run was given.', {
        fix: 'Run `heddle list workflows` to see their names, or give a file.',
      });
    }
    const format = input.text('export');
    if (format !== undefined && format !== 'mermaid') {
      throw new HeddleError('USAGE_INVALID', `${format} is no format; --export knows mermaid.`);
    }
    const [choice, typed] = [await workflowChoice(word), await readInput(words, input)];
    const by = localCaller();
    return withRunningHeddle(input, workflowRunOptions(input, [word]), async (heddle) => {
      const workflow = await resolveCodeFile(choice, {
        known: () => heddle.workflows.list(by),
        untrusted: () => untrustedWorkflows(input),
      });
      await heddle.workflows.get(by, workflow).catch(async (thrown) => {
        throw typeof workflow === 'string' ? await explainUntrusted(thrown, workflow, input) : thrown;
      });
      if (format !== undefined) return exportChart(heddle, by, { workflow, json: input.flag('json') });
      const bound = await bindInput(heddle, by, { workflow, typed, word });
      return act(heddle, { by, input, workflow, word, bound });
    });
  },
};

const readInput = (words: readonly string[], input: Input) =>
  readArguments(words, { option: '--input', text: input.text('input') });

interface Export {
  readonly workflow: WorkflowChoice;
  readonly json: boolean;
}

async function exportChart({ workflows }: CommandHeddle, by: Caller, { workflow, json }: Export): Promise<number> {
  const mermaid = (await workflows.toMermaid(by, workflow)).trimEnd();
  if (json) printJson({ mermaid });
  else process.stdout.write(`${escapeControlCharacters(mermaid)}\n`);
  return 0;
}

interface TypedInput {
  readonly workflow: WorkflowChoice;
  readonly typed: TypedArguments;
  readonly word: string;
}

/** Converts the typed arguments with the input schema of the workflow. */
async function bindInput(heddle: CommandHeddle, by: Caller, { workflow, typed, word }: TypedInput) {
  if (typed.named.size === 0) return typed.whole;
  const { name, input: schema } = await heddle.workflows.get(by, workflow);
  // A misspelt name of an optional input would be ignored. `--input` passes any name.
  const inputSchema = schema.properties === undefined ? schema : { additionalProperties: false, ...schema };
  return bindArguments(typed, {
    name: word,
    inputSchema,
    signature: functionSignature({ kind: 'tool', definition: { inputSchema } }, name),
  });
}

interface BoundRun {
  readonly by: Caller;
  readonly input: Input;
  readonly workflow: WorkflowChoice;
  readonly word: string;
  readonly bound: JsonObject;
}

async function act(heddle: CommandHeddle, { by, input, workflow, word, bound }: BoundRun): Promise<number> {
  const json = input.flag('json');
  if (input.flag('dry-run')) {
    const plan = await heddle.workflows.plan(by, workflow, bound, untilInterrupted());
    if (json) printJson(plan);
    else printPlan(plan);
    return plan.problems.some(({ level }) => level === 'error') ? 1 : 0;
  }
  const timeoutMs = durationOf(input, 'timeout');
  const signal = untilInterrupted();
  // Before an approval is requested or a step has run.
  const invalid = lintError(await heddle.workflows.lint(by, workflow, signal), word);
  if (invalid) throw invalid;
  const site: RunSite = { heddle, by, json, yes: input.flag('yes'), waitMs: durationOf(input, 'wait-approval') };
  const options = { ...(timeoutMs !== undefined && { timeoutMs }), ...(input.flag('detach') && { detach: true }) };
  const wanted: RunToStart = { workflow, input: bound, options, signal };
  if (!options.detach) return runWorkflow(site, wanted);
  const begun = await startAtTerminal(site, wanted);
  if (json) printJson(begun);
  else print(begun.id);
  const resume = runsCommand('resume', begun);
  notice(`\`heddle runs show ${begun.id}\` shows it. A gateway of this project executes it, or \`${resume}\`.`);
  return 0;
}

function durationOf(input: Input, name: string): number | undefined {
  const text = input.text(name);
  return text === undefined ? undefined : readDuration(name, text);
}
