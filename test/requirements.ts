import { it } from 'vitest';

interface Requirement {
  /** The behaviour of Heddle, in one sentence. */
  readonly does: string;
  /** True when it is met in full. At least one test must cite it then. */
  readonly done: boolean;
}

/** The requirements of Heddle. Tests cite the ids with `verifies`, and `npm run requirements` reports them. */
export const REQUIREMENTS = {
  // Configuration and discovery
  C1: {
    does: 'One schema gives the types, the defaults, the validation and the reference of heddle.json.',
    done: true,
  },
  C2: { does: 'A server entry says how to reach it: a command, a URL of any transport, or in process.', done: true },
  C3: { does: 'A server entry also says how Heddle treats it: limits, sandbox, timeouts, tool facts.', done: false },
  C4: { does: 'A tool may state its own facts; only a trusted server may state milder ones than ours.', done: false },
  C5: { does: 'Servers are found in every file, variable and program that is known to define them.', done: false },
  C6: { does: 'Enterprise files rule alone; otherwise one order of scopes decides who wins a name.', done: true },
  C7: { does: 'Every entry knows its file and line, and `config explain` says what won and why.', done: true },
  C8: { does: 'A person’s entry may replace a built-in, without its privileges; our names are reserved.', done: true },
  C9: { does: 'Variables are expanded once; an unset one fails its own server and names file and line.', done: true },
  C10: { does: 'A broken file or entry is reported with its place and a fix, and stops nothing else.', done: true },
  C11: { does: 'Servers of a project start only after the user has trusted them once.', done: true },
  C12: { does: 'Configurations of other hosts are imported and exported, dialects and all.', done: true },
  C13: { does: 'Editing a file restarts just the servers it changes; live calls finish.', done: true },
  C14: { does: 'heddle.json has one documented top level, and `{}` is a good configuration.', done: false },

  // Connections
  T1: { does: 'stdio, Streamable HTTP, SSE, WebSocket, in-process and IDE transports are one Connection.', done: true },
  T2: { does: 'Each server has a state with a reason, listed without starting anything.', done: true },
  T3: { does: 'Servers start when needed, time out on their own, and never hold up one another.', done: true },
  T4: { does: 'A stdio server lives in its own process group, and none of that group outlives Heddle.', done: true },
  T5: { does: 'A lost connection fails its calls at once and is opened again with growing delays.', done: true },
  T6: { does: 'Each request has its own timer, cancels upstream, and leaves nothing behind.', done: true },
  T7: { does: 'Idle servers are probed, and calls route around an unhealthy one.', done: true },
  T8: { does: 'All pages of tools, resources and prompts are found, and changes refresh just that list.', done: true },
  T9: { does: 'Notifications reach any number of handlers by method, both ways.', done: true },
  T10: { does: 'Input requests of a server (forms, URLs, sampling, roots) reach the user of the call.', done: true },
  T11: { does: 'All five protocol versions are spoken, and no server is spawned twice to find out.', done: true },
  T13: {
    does: 'Extensions: tasks, MCP Apps and skills pass both ways; any other capability is declared, and its methods pass only if the entry lists them.',
    done: false,
  },

  // Authorization towards upstreams
  A1: { does: 'A server that wants a sign-in is remembered as such, and the others go on.', done: true },
  A2: { does: '`auth login` takes a user through the whole OAuth flow, headless included.', done: true },
  A3: { does: 'Tokens are encrypted at rest and refreshed once, however many calls wait for it.', done: true },
  A4: { does: 'Machines sign in too: client credentials, key-signed JWTs, bearers, header helpers.', done: true },
  A5: { does: 'One sign-in at the identity provider opens every server that takes part.', done: true },
  A6: {
    does: 'Behind the gateway each user’s calls carry that user’s credential, never the inbound one.',
    done: true,
  },
  A7: { does: 'Every fetch of metadata goes through one guarded function.', done: true },

  // Catalog and routing
  R1: { does: 'The catalog is an immutable snapshot, swapped whole; invalid schemas are listed as such.', done: true },
  R2: { does: 'Public names are deterministic, legal everywhere, and forgiving where a person types.', done: true },
  R3: { does: 'Servers of one pool share their tools, and the best of them gets the call.', done: true },
  R4: { does: 'A call moves to another server only when that is certainly safe.', done: true },
  R5: { does: 'Every server and tool has counts, a success rate and a latency.', done: true },
  R6: { does: 'Tools are found by category and text, resources by URI and template, prompts by name.', done: true },
  R7: { does: 'Caches are bounded, obey the server, and never cross principals.', done: true },
  R8: {
    does: 'Descriptions are cut with a mark for models and by profile alone, and annotations of any age become facts.',
    done: true,
  },
  R9: { does: 'Schemas translate between the dialects, and what is lost is listed.', done: true },
  R10: { does: 'Definitions have digests and can be registered, updated and removed at run time.', done: false },

  // Governance
  G1: { does: 'Every call of every front end passes one pipeline in one pinned order.', done: true },
  G2: { does: 'Permission rules allow, ask or deny; where none matches, the mode decides.', done: true },
  G3: { does: 'Policies are expressions over the call, and can be replayed over the past.', done: true },
  G4: { does: 'Arguments and results are checked against their schemas, with errors a model can use.', done: true },
  G5: { does: 'Rates and costs are limited per tool, server and caller.', done: false },
  G6: { does: 'Risky calls ask a person first, who sees exactly what would run.', done: true },
  G7: { does: 'Approvals survive restarts, are bound to one exact call, and are used once.', done: false },
  G8: { does: 'Definitions are pinned, and a changed one is quarantined until it is accepted.', done: false },
  G9: { does: 'Servers are confined when they start, and paths and hosts at each call.', done: false },
  G10: { does: 'Secrets, personal data and control characters are filtered from what comes back.', done: false },
  G11: { does: 'Every attempt is audited in a hash chain; without the log nothing with effects runs.', done: true },
  G12: { does: 'Unusual behaviour of callers and tools raises events.', done: false },
  G13: { does: 'User code may run before and after calls, input requests and approvals.', done: true },

  // Sandbox
  S1: { does: 'The operating system enforces a server’s sandbox, or the server does not start.', done: false },
  S2: { does: 'The sandbox costs next to nothing, and `doctor` says what is enforceable here.', done: false },

  // Built-in servers
  B1: {
    does: 'The filesystem server reads, writes, lists and searches, and nothing gets out of its roots.',
    done: true,
  },
  B2: {
    does: 'The database server reads three databases, no statement of a reader writes, and each write is approved.',
    done: true,
  },
  B3: { does: 'Built-in tools state their category, risk, idempotence and need of approval.', done: true },

  // Workflows
  W1: { does: 'Workflows are written in YAML, JSON or TypeScript, the classic form included.', done: false },
  W2: { does: 'Expressions are typed, bounded and never text substitution.', done: false },
  W3: { does: 'Steps can retry, fall back, compensate, wait, ask a person, and call workflows or code.', done: false },
  W4: { does: 'Workflow steps are governed calls, and workflows are themselves tools.', done: true },
  W5: { does: 'A run survives a kill at any point and never executes a step twice.', done: false },
  W6: { does: 'Runs can be watched, cancelled, resumed, tried dry, checked and drawn.', done: false },
  W7: { does: 'The same definitions run on many machines over Postgres.', done: false },

  // Visibility
  V1: { does: 'Every call leaves a span with sanitized arguments, and every tool has statistics.', done: false },
  V2: { does: 'Traces, metrics, health and logs come out in the standard forms.', done: false },
  V3: { does: 'Recorded traffic replays as a server in tests.', done: false },

  // The gateway
  P1: { does: 'All servers are one MCP endpoint, and answers pass through unharmed.', done: true },
  P2: { does: 'Profiles offer named subsets with their own names and permissions.', done: false },
  P3: { does: 'Clients and servers of different protocol eras interoperate, input requests included.', done: true },
  P4: { does: 'The gateway knows who calls, checks roles, and listens on loopback by default.', done: false },
  P5: { does: 'The official conformance suite passes, as server and as client.', done: true },
  P6: { does: 'Bad input gets the right error and affects no other client.', done: true },

  // Agents
  X1: { does: 'One import gives a program every tool, governed, with adapters for the model SDKs.', done: false },
  X2: { does: '`heddle chat` is an agent in the terminal, with approvals.', done: false },
  X3: { does: 'Results too large for a model become a preview and a handle.', done: false },
  X4: { does: 'A model can search for tools instead of reading all of them.', done: false },
  X5: { does: 'A model can write code against typed tools, each inner call governed.', done: false },
  X6: { does: 'Typed clients are generated; prompts are slash commands, skill resources skills.', done: false },

  // Command line
  L1: { does: 'There is one command for everything that Heddle does.', done: false },
  L2: { does: '`heddle call` takes arguments in every handy form and works with no configuration.', done: true },
  L3: { does: 'stdout is data, stderr the rest, and scripts are never prompted.', done: true },
  L4: { does: 'Exit codes come from one pinned table.', done: true },
  L5: { does: 'Errors say what happened, why, and the one thing to do, and each has a page.', done: true },
  L6: { does: 'A fresh clone starts with `npm start` and is tested with `npm test`.', done: false },
  L7: {
    does: 'Scripts can start the gateway and learn its URL, token and pid from one line. Commands use a running gateway.',
    done: true,
  },

  // Web console
  U1: { does: 'The console shows and steers servers, tools, approvals, traces, runs and the audit log.', done: false },
  U2: { does: 'The console is accessible, small, strict about content, and works offline.', done: false },

  // More than one machine
  K1: { does: 'Replicas on one Postgres share everything, and losing one loses no more than its calls.', done: false },
  K2: { does: 'Deployment files for containers, systemd and Kubernetes are included.', done: false },

  // Faults
  F1: { does: 'A server killed mid-call fails that call within a second and nothing else.', done: true },
  F2: { does: 'A server that hangs is timed out, cancelled, and gone with all its children.', done: true },
  F3: { does: 'Garbage, floods and wrong answers misroute nothing and keep memory bounded.', done: true },
  F4: { does: 'Busy, expired and unauthorized answers are each handled once.', done: true },
  F5: { does: 'A thousand clients with the same request ids get their own answers.', done: true },
  F6: { does: 'A client that leaves cancels its calls; a slow one fills a bounded buffer.', done: true },
  F7: { does: 'With the audit disk full, effects are refused, reads go on, and it recovers.', done: true },
  F8: { does: 'Killed at random points, nothing pending is lost or executed twice.', done: false },
  F9: { does: 'A database restart or a lost replica costs seconds and no data.', done: false },
  F10: { does: 'With ten of fifty servers dead the rest are listed within two seconds and work.', done: true },
  F11: { does: 'Under a long load memory, handles and children stay flat.', done: false },

  // Speed
  Q1: { does: 'With all governance on, stdio throughput is at least that of a bare bridge.', done: false },
  Q2: { does: 'HTTP throughput is at least nine tenths of a bare proxy.', done: false },
  Q3: { does: 'Latency stays within a fifth of the bare bridge, the tail included.', done: false },
  Q4: { does: 'Listing a thousand tools is cheap, and a change costs only the server that changed.', done: false },
  Q5: { does: 'The command starts fast, the gateway idles small, the library imports quickly.', done: false },
  Q6: { does: 'The cost of a call grows neither with the catalog nor with the audit log.', done: false },
} as const satisfies Record<string, Requirement>;

export type RequirementId = keyof typeof REQUIREMENTS;

/** Defines a test of a requirement. Its title begins with the id. */
export function verifies(id: RequirementId, name: string, body: () => void | Promise<void>, timeoutMs?: number): void {
  it(`${id}: ${name}`, body, timeoutMs);
}
