import type { Json, JsonObject } from '../../../src/core/call.ts';
import type { WorkflowSource } from '../../../src/core/records/workflow.ts';
import type { ApprovalEnd } from '../../../src/workflow/run/durable.ts';

/** A flow whose history is kept. Changing one means recording a new file beside the old one. */
export interface KeptFlow {
  readonly name: string;
  /** The file of an example, or a definition. */
  readonly example?: string;
  readonly value?: WorkflowSource['value'];
  readonly input: JsonObject;
  /** The results of tools. `fails` and `never` are responses, too. The default is the input. */
  readonly tools: Readonly<Record<string, Json | 'fails' | 'never'>>;
  readonly decisions?: Readonly<Record<string, ApprovalEnd>>;
}

const approved = { kind: 'approved', by: ['ops'], at: 1 } as const;
const call = (id: string, rest: JsonObject = {}) => ({ id, tool: `write-${id}`, input: { id }, ...rest });
const echo = (id: string, inputMapping: JsonObject) => ({ id, toolName: 'echo', inputMapping });

export const KEPT_FLOWS: readonly KeptFlow[] = [
  {
    name: 'research-digest',
    example: 'research-digest.yaml',
    input: { query: 'sagas' },
    tools: {
      'brave.web_search': { results: ['a', 'b', 'c'].map((id) => ({ url: `https://x.test/${id}` })) },
      'tavily.search': 'never',
      'fetch.get': { text: 'page' },
      'llm.summarise': { summary: 'short' },
      'text.concat': { text: 'short short short' },
      'llm.write_digest': { text: 'digest' },
    },
  },
  {
    name: 'mitigate-incident',
    example: 'mitigate-incident.yaml',
    input: { service: 'shop' },
    tools: {
      'sentry.issue_stats': { rate: 0.08 },
      'github.list_deployments': { items: [{ sha: 'b7e23ec' }, { sha: '1f0d5c2' }] },
      'flags.set': { on: false },
      'deploy.rollback': 'fails',
    },
    decisions: { 'decide/ok': approved },
  },
  {
    name: 'contract-intake',
    example: 'contract-intake.yaml',
    input: { uri: 'drive://contract' },
    tools: {
      'drive.download': { blob_ref: 'blob' },
      'ocr.pdf_to_text': { text: 'between Acme and Globex' },
      'text.normalise': { text: 'between Acme and Globex' },
      'llm_a.classify': { label: 'nda' },
      'llm_b.classify': { label: 'msa' },
      'rules.classify': { label: 'sow' },
      'crm.find_account': { account: 7 },
      'mcp__workflow__file-contract': { id: 'filed' },
    },
    decisions: { 'class/~fallback': { ...approved, content: { label: 'nda' } } },
  },
  {
    name: 'classic',
    input: { list: [1, 2, 3] },
    tools: { bad: 'fails', join: { joined: 3 }, list: { items: [{ n: 1 }, { n: 2 }] } },
    value: {
      name: 'classic',
      errorHandling: 'skip',
      steps: [
        echo('first', { n: '1' }),
        { id: 'both', type: 'parallel', branches: [echo('a', { n: '$first.n' }), { toolName: 'bad' }] },
        { id: 'choice', condition: '$first.n', ifTrue: echo('yes', { n: '2' }), ifFalse: echo('no', { n: '3' }) },
        { id: 'each', type: 'fanout', toolName: 'echo', splitExpression: '$input.list', mergeTool: 'join' },
        { id: 'loop', condition: '$iteration < 3', maxIterations: 2, body: echo('body', { i: '$iteration' }) },
        {
          id: 'pipe',
          type: 'pipeline',
          steps: [
            { source: { id: 'source', toolName: 'list' } },
            { transform: '$prev.items' },
            { filter: '$item.n > 1' },
            { enrich: { toolName: 'echo', inputMapping: { n: '$item.n' }, as: 'more' } },
          ],
        },
      ],
    },
  },
  {
    name: 'stopping',
    input: {},
    tools: { 'write-slow': 'never', 'write-bad': 'fails' },
    value: {
      heddle: 1,
      name: 'stopping',
      steps: [
        call('first', { compensate: { tool: 'write-undo', input: { was: '$self.result.id' } } }),
        { id: 'pause', wait: { for: '1ms' } },
        { id: 'late', timeout: '5ms', onError: 'skip', sequential: [call('slow')] },
        {
          id: 'tries',
          onError: 'fallback',
          fallback: call('instead'),
          retry: { max: 1, initial: '1ms', on: ['TOO_MANY_FAILED'] },
          fanout: {
            ...{ items: '[1, 2, 3]', maxConcurrency: 2, tolerate: { count: 1 } },
            do: [call('bad', { retry: { max: 1, initial: '2ms', jitter: true, on: ['isError'] } })],
          },
        },
        { id: 'repeat', loop: { until: '$loop.index == 1', maxIterations: 3, delay: '1ms', do: [call('body')] } },
        {
          id: 'race',
          allowSideEffects: true,
          mode: 'first',
          parallel: [call('other', { tool: 'write-slow' }), call('quick')],
        },
        call('last', { tool: 'write-bad' }),
      ],
    },
  },
];
