import type { LintReport, WorkflowSummary } from '../../core/records/workflow.ts';
import type { WorkflowChoice } from '../../core/records/workflow-api.ts';
import { CONFIG_OPTION, type Command, GATEWAY_OPTIONS, type Input, JSON_OPTION, TRUST_OPTION } from '../command.ts';
import { requireUninterrupted, untilInterrupted } from '../input/interrupt.ts';
import { localCaller } from '../local-caller.ts';
import { printJson } from '../print/print-json.ts';
import { notice } from '../print/print-line.ts';
import { printLint, shortPath } from '../runs/print-workflow.ts';
import {
  explainUntrusted,
  type UntrustedWorkflow,
  untrustedReport,
  untrustedWorkflows,
  workflowRunOptions,
} from '../runs/untrusted-workflows.ts';
import { resolveCodeFile, workflowChoice } from '../runs/workflow-choice.ts';
import { withRunningHeddle } from '../with-heddle.ts';

export const lint: Command = {
  summary: 'Check workflows: references, types, tools, limits and secrets. Calls no tool; exits with 1 on errors.',
  usage: 'heddle lint [<name | file.yaml | file.json | file.ts> …]',
  notes: ['Without a name it checks every workflow of the configuration, those of an untrusted project included.'],
  examples: ['heddle lint', 'heddle lint .heddle/workflows/digest.yaml', 'heddle lint research-digest --json'],
  maxPositionals: Number.POSITIVE_INFINITY,
  options: { config: CONFIG_OPTION, 'trust-project': TRUST_OPTION, ...GATEWAY_OPTIONS, json: JSON_OPTION },
  async run(input) {
    const words = input.positionals;
    const given: readonly WorkflowChoice[] = await Promise.all(words.map(workflowChoice));
    const signal = untilInterrupted();
    const by = localCaller();
    const checked = await withRunningHeddle(input, workflowRunOptions(input, words), async ({ workflows }) => {
      const known = () => workflows.list(by);
      const every = words.length > 0 ? undefined : await everyWorkflow(await known(), input);
      const all: { readonly report: LintReport; readonly file?: string }[] = [...(every?.code ?? [])];
      for (const choice of every?.chosen ?? given) {
        const one = await resolveCodeFile(choice, { known, untrusted: () => untrustedWorkflows(input) });
        requireUninterrupted(signal);
        const report = await workflows.lint(by, one, signal).catch(async (thrown) => {
          throw typeof one === 'string' ? await explainUntrusted(thrown, one, input) : thrown;
        });
        all.push({ report, ...(typeof one !== 'string' && one.file !== undefined && { file: one.file }) });
      }
      return all;
    });
    const reports = checked.map(({ report }) => report);
    if (input.flag('json')) printJson(reports);
    else if (reports.length === 0) notice('There is no workflow to check. Give a file: `heddle lint flow.yaml`.');
    else for (const { report, file } of checked) printLint(report, file && shortPath(file));
    return reports.some(({ problems }) => problems.some(({ level }) => level === 'error')) ? 1 : 0;
  },
};

/** Returns the workflows of the configuration, and the untrusted files of the project. No code of them is run. */
async function everyWorkflow(known: readonly WorkflowSummary[], input: Input) {
  const untrusted = await untrustedWorkflows(input);
  const isCode = ({ file }: UntrustedWorkflow) => file.endsWith('.ts');
  const data = untrusted.filter((one) => !isCode(one)).map(({ file, text }) => ({ file, text }));
  const chosen: readonly WorkflowChoice[] = [...known.map(({ name }) => name), ...data];
  return { chosen, code: untrusted.filter(isCode).map((one) => ({ report: untrustedReport(one), file: one.file })) };
}
