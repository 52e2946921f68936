import { type Facts, UNDECLARED_FACTS } from './call/facts.ts';
import type { Caller, DecidedCall, Decision, Handler, ResolvedCall, Result, Target } from './call.ts';
import type { ServerStatus } from './records/server-status.ts';

/** A client of the gateway, whose token has a person behind it. */
export const ada: Caller = { id: 'ada', roles: ['user'], via: 'gateway', person: 'ada' };
/** The owner at the CLI. */
export const grace: Caller = { id: 'grace', roles: ['owner'], via: 'cli' };

/** The facts of a tool without annotations and configuration. */
export const plainFacts: Facts = UNDECLARED_FACTS;

/** The tool `echo` of the server `demo`; override only what your test is about. */
export function aTarget({
  facts,
  ...overrides
}: Partial<Omit<Target, 'facts'>> & { facts?: Partial<Facts> } = {}): Target {
  return {
    kind: 'tool',
    publicName: 'mcp__demo__echo',
    servers: ['demo'],
    name: 'echo',
    definition: { name: 'echo', inputSchema: { type: 'object' } },
    digest: 'f00d',
    flags: [],
    ...overrides,
    facts: { ...plainFacts, ...facts },
  };
}

const allowed: Decision = { effect: 'allow', rule: 'mode open', reason: 'Mode open needs no approvals.' };

/** A valid, decided call; override only what your test is about. */
export function aCall(overrides: Partial<DecidedCall> = {}): DecidedCall {
  return {
    id: '01990000-0000-7000-8000-000000000001',
    kind: 'tool',
    name: 'demo.echo',
    input: {},
    meta: {},
    caller: ada,
    options: {},
    signal: new AbortController().signal,
    target: aTarget(),
    decision: allowed,
    ...overrides,
  };
}

/** The status of a server that was not started yet; override only what your test is about. */
export const aStatus = (overrides: Partial<ServerStatus> = {}): ServerStatus => ({
  name: 'demo',
  scope: 'project',
  transport: 'stdio',
  state: 'pending',
  attempt: [0, 1],
  health: 'unknown',
  sandbox: 'none',
  ...overrides,
});

export const text = (value: string): Result => ({
  kind: 'complete',
  value: { content: [{ type: 'text', text: value }] },
  isError: false,
  provenance: { server: 'demo', attempts: 1, latencyMs: 1 },
});

export const answers =
  (value: string): Handler<ResolvedCall> =>
  async () =>
    text(value);
