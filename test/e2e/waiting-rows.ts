import type { ChildProcess } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { HeddleError } from '../../src/core/errors.ts';
import { openHeddle } from '../../src/index.ts';
import { MEASURES } from '../limits.ts';
import type { Endpoint } from '../servers/interactive-clients.ts';
import { BIN, type Project, type RunningUp } from './heddle-command.ts';
import { connectSdk, connectTasks, type WaitingClient } from './waiting-clients.ts';

/** A front end of the matrix: a client, its era and its transport. */
export interface Row {
  readonly label: string;
  /** The key of its calls. */
  readonly key: string;
  readonly kind: 'form' | 'task' | 'other' | 'library' | 'cli';
  readonly era?: 'legacy' | 'modern';
  readonly transport?: Endpoint['transport'];
  connect(gateway: MatrixGateway): Promise<WaitingClient>;
}

/** The gateway of one test. */
export interface MatrixGateway {
  readonly own: Project;
  readonly running: RunningUp;
}

const TRANSPORTS = { legacy: ['http', 'stdio', 'sse', 'ws'], modern: ['http', 'stdio', 'ws'] } as const;

/** The API key of the caller with this name. */
export const keyOf = (name: string) => `hk_${name}`;

/** Lists every front end with every era and transport. Each gateway client over HTTP, SSE or WebSocket is a caller. */
function allRows(): readonly Row[] {
  const gateway = (['form', 'other', 'task'] as const).flatMap((kind) =>
    (['legacy', 'modern'] as const).flatMap((era) =>
      kind === 'task' && era === 'legacy' ? [] : TRANSPORTS[era].map((transport) => ({ kind, era, transport })),
    ),
  );
  return [
    ...gateway.map((row): Row => {
      const { kind, era, transport } = row;
      const key = `${kind}-${era}-${transport}`;
      const connect = (to: MatrixGateway) => {
        const endpoint = endpointOf(transport, key, to);
        return kind === 'task' ? connectTasks(endpoint) : connectSdk(endpoint, { era, forms: kind === 'form' });
      };
      return { ...row, key, label: `${kind}: ${era} over ${transport}`, connect };
    }),
    { label: 'library', key: 'library', kind: 'library', connect: ({ own }) => connectLibrary(own) },
    { label: 'heddle call', key: 'cli', kind: 'cli', connect: async ({ own }) => connectCommand(own) },
  ];
}

export const ROWS = allRows();

/** How a waiting call ends. The order determines which front ends a test has. */
export const ENDS = ['rejected', 'restarted', 'approved', 'timed_out', 'gone', 'elsewhere'] as const;
export type End = (typeof ENDS)[number];

/**
 * Returns the front ends of one test: all in `npm run soak`, else seven. Each end then has each kind, era and transport,
 * with each kind in each of its eras. The ends on SQLite together have every front end; Postgres has other pairs of kind
 * and transport in the legacy era. Every `restarted` has a modern form over HTTP, and `rejected` a client without forms.
 */
export function rowsOf(end: End, dialect: string): readonly Row[] {
  if (MEASURES) return ROWS;
  const index = ENDS.indexOf(end) + (dialect === 'sqlite' ? 0 : 3);
  const at = (shift: number) => TRANSPORTS.modern[(index + shift) % 3];
  const [withSse, without] = index % 2 === 0 ? ['form', 'other'] : ['other', 'form'];
  const keys = [
    ...[`${withSse}-legacy-sse`, `${without}-legacy-${at(2)}`],
    ...[`form-modern-${at(2)}`, `other-modern-${at(0)}`, `task-modern-${at(1)}`],
    ...['library', 'cli'],
  ];
  return ROWS.filter(({ key }) => keys.includes(key));
}

function endpointOf(transport: Endpoint['transport'], key: string, { own, running }: MatrixGateway): Endpoint {
  if (transport === 'stdio') {
    const file = join(own.home, `${key}.key`);
    writeFileSync(file, keyOf(key));
    const args = [BIN, 'serve', '--stdio', '--host-key', file];
    return { transport, command: process.execPath, args, cwd: own.folder, env: own.env };
  }
  const url = transport === 'sse' ? running.url.replace('/mcp', '/sse') : running.url;
  return { transport, url, token: keyOf(key) };
}

/** A program without `onApprovalRequest`: it waits for the decision, and makes the same call again. */
async function connectLibrary({ folder, env }: Project): Promise<WaitingClient> {
  const heddle = await openHeddle({ cwd: folder, env });
  const closed = new AbortController();
  async function call(tool: string, key: string): Promise<string> {
    try {
      await heddle.call(`counting.${tool}`, { key }, { signal: closed.signal });
      return 'ok';
    } catch (thrown) {
      const { code, details } = HeddleError.from(thrown);
      if (code !== 'APPROVAL_PENDING') return code;
      const { status } = await heddle.approvals.wait(String(details.approval), { signal: closed.signal });
      // The same call would request another approval.
      return status === 'timeout' ? 'APPROVAL_TIMED_OUT' : call(tool, key);
    }
  }
  return {
    forms: [],
    call: (tool, key) => call(tool, key).catch(() => 'closed'),
    async close() {
      closed.abort();
      await heddle.close();
    },
  };
}

/** `heddle call --wait-approval` without a terminal. */
function connectCommand(own: Project): WaitingClient {
  const children: ChildProcess[] = [];
  return {
    forms: [],
    async call(tool, key) {
      const args = ['call', `counting.${tool}`, `key=${key}`, '--wait-approval', '10m', '--json'];
      const meanwhile = async (child: ChildProcess) => void children.push(child);
      const { code, stderr } = await own.heddle(args, { meanwhile });
      return code === 0 ? 'ok' : (/[A-Z]+_[A-Z_]+/.exec(stderr)?.[0] ?? `exit ${code}`);
    },
    async close() {
      for (const child of children) child.kill('SIGINT');
    },
  };
}
