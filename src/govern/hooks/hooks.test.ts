import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { carriersOf } from '../../../test/alive.ts';
import { verifies } from '../../../test/requirements.ts';
import { until } from '../../../test/until.ts';
import type { JsonObject } from '../../core/call.ts';
import { type HeddleError, UpstreamError } from '../../core/errors.ts';
import { aCall, answers, text } from '../../core/fixtures.ts';
import { parseJson } from '../../core/json.ts';
import type { HookFunctions } from '../../core/records/hook.ts';
import { keeping, LONGEST_MS, printing, shell, type WrittenHooks, withHooks } from './fixtures.ts';

const beforeCall = (...hooks: WrittenHooks['beforeCall'] & {}): WrittenHooks => ({ beforeCall: hooks });

describe('without hooks', () => {
  verifies('G13', 'a call goes on in the same turn, with the same object', () => {
    const { stage } = withHooks({});
    const call = aCall();
    const { seen, next } = keeping();
    void stage(call, next);
    expect(seen[0]).toBe(call);
  });
});

describe('a command before the call', () => {
  verifies('G13', 'gets the event on stdin, a small environment, and its exit without output allows', async () => {
    const { stage, program, folder } = withHooks(
      beforeCall({ command: ['./look.sh'], timeoutMs: LONGEST_MS }),
      {},
      { env: { PATH: process.env.PATH, SECRET_OF_OURS: 'x', HEDDLE_HOME: '/nowhere' } },
    );
    program('look.sh', 'cat >event.json; env >env.txt');
    await expect(stage(aCall({ input: { a: 1 } }), answers('done'))).resolves.toEqual(text('done'));
    expect(JSON.parse(readFileSync(join(folder, 'event.json'), 'utf8'))).toEqual({
      event: 'beforeCall',
      call: {
        id: aCall().id,
        kind: 'tool',
        name: 'mcp__demo__echo',
        servers: ['demo'],
        caller: { id: 'ada', roles: ['user'], via: 'gateway' },
        arguments: { a: 1 },
      },
    });
    const names = readFileSync(join(folder, 'env.txt'), 'utf8').split('\n');
    expect(names.filter((line) => /SECRET|HEDDLE_HOME/.test(line))).toEqual([]);
  });

  verifies('G13', 'denies with its reason, which is escaped and recorded', async () => {
    const { stage, records } = withHooks(beforeCall(printing('{"effect":"deny","reason":"Not\\nnow \\u001b[31m"}')));
    const { seen, next } = keeping();
    await expect(stage(aCall(), next)).rejects.toMatchObject({
      code: 'PERMISSION_DENIED',
      message: String.raw`A hook denied the call of mcp__demo__echo. Not\nnow \u{001b}[31m.`,
      fix: 'The hook is hooks.beforeCall (sh); the operator who maintains it can change it.',
    });
    expect(seen).toEqual([]);
    expect(records).toMatchObject([
      { phase: 'hook', name: 'mcp__demo__echo', detail: { event: 'beforeCall', effect: 'deny' } },
    ]);
  });

  verifies('G13', 'changes the arguments, and the next hook gets the changed ones', async () => {
    const second = shell('grep -q \'"arguments":{"a":2}\' && echo \'{"effect":"ask"}\'');
    const { stage } = withHooks(beforeCall(printing('{"arguments":{"a":2}}'), second));
    const { seen, next } = keeping();
    await stage(aCall({ input: { a: 1 } }), next);
    expect(seen[0]).toMatchObject({
      input: { a: 2 },
      hooked: { original: { a: 1 }, asks: 'The hook hooks.beforeCall (sh) asks for an approval.' },
    });
  });

  verifies('G13', 'keeps numbers that JavaScript cannot hold, when it echoes the arguments', async () => {
    const input = parseJson('{"n":12345678901234567890}', { numbers: 'exact' }) as JsonObject;
    const { stage } = withHooks(beforeCall(printing('{"arguments":{"n":12345678901234567890}}')));
    const { seen, next } = keeping();
    const call = aCall({ input });
    await stage(call, next);
    expect(seen[0]).toBe(call);
  });

  verifies('G13', 'runs for the tools that it names', async () => {
    const { stage } = withHooks({
      beforeCall: [{ ...printing('{"effect":"deny"}'), tools: ['mcp__other'] }],
    });
    await expect(stage(aCall(), answers('done'))).resolves.toEqual(text('done'));
  });

  const FAILURES: readonly (readonly [string, string, RegExp])[] = [
    ['half a JSON', 'printf \'{"effect":\'', /printed something other than JSON/],
    ['an exit code', 'exit 3', /ended with exit code 3/],
    ['output without end', 'yes', /printed more than 1048576 bytes/],
    ['a list', 'echo "[]"', /gave a verdict that is not an object/],
    ['a misspelt effect', 'echo \'{"effect":"denied"}\'', /gave an effect other than allow, ask, deny/],
    ['an unknown field', 'echo \'{"efect":"deny"}\'', /unknown field `efect`/],
    ['arguments that are a list', 'echo \'{"arguments":[1]}\'', /gave arguments that are not an object/],
  ];
  for (const [what, script, reason] of FAILURES) {
    verifies('G13', `denies the call when it gives ${what}`, async () => {
      const { stage } = withHooks(beforeCall(shell(script)));
      const { seen, next } = keeping();
      await expect(stage(aCall(), next)).rejects.toMatchObject({
        code: 'PERMISSION_DENIED',
        message: expect.stringMatching(reason),
      });
      expect(seen).toEqual([]);
    });
  }

  verifies(
    'G13',
    'records the end of its stderr when it fails, escaped and without secrets, and shows callers none',
    async () => {
      const script = `printf '%0100000d' 0 >&2; printf '\\033[2J no rule: token=abc123\\n' >&2; exit 3`;
      const { stage, records } = withHooks(beforeCall(shell(script)));
      const thrown = await stage(aCall(), answers('done')).catch((error: unknown) => error);
      expect(thrown).toMatchObject({ message: expect.stringContaining('exit code 3; the audit log has its stderr.') });
      expect(JSON.stringify(thrown)).not.toContain('no rule');
      const [record] = records;
      expect(record).toMatchObject({ phase: 'hook', detail: { effect: 'deny' } });
      expect(record?.detail.stderr).toMatch(/^0{3,}\\u\{001b\}\[2J no rule: token=\[REDACTED\]$/);
      expect(String(record?.detail.stderr)).toHaveLength(500);
    },
  );

  verifies('G13', 'denies the call when it cannot be started', async () => {
    const { stage } = withHooks(beforeCall({ command: ['./missing.sh'], timeoutMs: LONGEST_MS }));
    await expect(stage(aCall(), answers('done'))).rejects.toMatchObject({
      code: 'PERMISSION_DENIED',
      message: expect.stringContaining('cannot be started (ENOENT)'),
    });
  });

  verifies('G13', 'ends the process group of a hook without end, and denies the call', async () => {
    const mark = `HEDDLE_TEST_MARK=${randomUUID()}`;
    const script = `export ${mark}; sleep 1000 & sleep 1000`;
    const { stage } = withHooks({ beforeCall: [{ ...shell(script), timeoutMs: 50 }] });
    await expect(stage(aCall(), answers('done'))).rejects.toMatchObject({
      code: 'PERMISSION_DENIED',
      message: expect.stringContaining('did not end within 50 ms'),
    });
    expect(carriersOf(mark)).toEqual([]);
  });

  verifies('G13', 'ends with a cancelled call', async () => {
    const mark = `HEDDLE_TEST_MARK=${randomUUID()}`;
    const { stage, folder } = withHooks({
      beforeCall: [shell(`export ${mark}; sleep 1000 & echo >begun; wait`)],
    });
    const abort = new AbortController();
    const outcome = stage(aCall({ signal: abort.signal }), answers('done')).catch((thrown: unknown) => thrown);
    await until('the hook runs', () => existsSync(join(folder, 'begun')));
    abort.abort();
    await expect(outcome).resolves.toMatchObject({ code: 'CALL_CANCELLED' });
    expect(carriersOf(mark)).toEqual([]);
  });
});

describe('a function', () => {
  verifies('G13', 'that throws denies the call, and its message is not shown', async () => {
    const functions = {
      beforeCall: () => {
        throw new Error('password hunter2');
      },
    };
    const { stage } = withHooks({}, functions);
    const thrown = await stage(aCall(), answers('done')).catch((error: Error) => error);
    expect(thrown).toMatchObject({ code: 'PERMISSION_DENIED', message: expect.stringContaining('failed') });
    expect(JSON.stringify(thrown)).not.toContain('hunter2');
  });

  verifies('G13', 'that changes its event in place changes nothing', async () => {
    const functions: HookFunctions = {
      beforeCall: ({ call }) => void Object.assign(call.arguments, { a: 2 }) as undefined,
      afterCall: ({ result }) => void Object.assign(result, { content: [] }) as undefined,
    };
    const { stage } = withHooks({}, functions);
    const { seen, next } = keeping();
    await expect(stage(aCall({ input: { a: 1 } }), next)).resolves.toEqual(text('done'));
    expect(seen[0]?.input).toEqual({ a: 1 });
  });
});

describe('after the call', () => {
  verifies('G13', 'a hook withholds the result, and the message says that the call was made', async () => {
    const { stage, records } = withHooks({ afterCall: [printing('{"effect":"deny","reason":"It has a secret."}')] });
    await expect(stage(aCall(), answers('done'))).rejects.toMatchObject({
      code: 'PERMISSION_DENIED',
      message: 'mcp__demo__echo was called, and a hook withheld its result. It has a secret.',
      details: { withheld: true },
    });
    expect(records).toMatchObject([{ phase: 'hook', detail: { event: 'afterCall', effect: 'deny' } }]);
  });

  verifies('G13', 'a failed hook withholds the result, and none can rewrite it', async () => {
    for (const output of ['{"resu', '{"result":{"content":[]}}', '{"arguments":{}}', '{"effect":"ask"}']) {
      const { stage } = withHooks({ afterCall: [printing(output)] });
      await expect(stage(aCall(), answers('done'))).rejects.toMatchObject({ details: { withheld: true } });
    }
  });
});

verifies('G13', 'a hook after the call gets the error response of a server, and can withhold it', async () => {
  const rpc = { code: -32000, message: 'the secret', data: { key: 'x' } };
  const refusal = new UpstreamError('UPSTREAM_REFUSED', rpc.message, {
    delivered: 'maybe',
    details: { server: 'demo', rpc },
  });
  const events: unknown[] = [];
  const effects = ['allow', 'deny'] as const;
  const afterCall: NonNullable<HookFunctions['afterCall']> = (event) => {
    events.push(event);
    return { effect: effects[events.length - 1] ?? 'deny' };
  };
  const { stage } = withHooks({}, { afterCall });
  const refused = () => Promise.reject(refusal);
  await expect(stage(aCall(), refused)).rejects.toBe(refusal);
  const withheld = await stage(aCall(), refused).catch((thrown: HeddleError) => thrown);
  expect(withheld).toMatchObject({ code: 'PERMISSION_DENIED', details: { withheld: true } });
  expect(JSON.stringify([withheld, (withheld as HeddleError).cause])).not.toContain('the secret');
  expect(events[0]).toMatchObject({ server: 'demo', isError: true, result: { error: rpc } });
});

verifies('G13', 'a function gets a number that JavaScript cannot hold digit by digit', async () => {
  const input = parseJson('{"n":12345678901234567890}', { numbers: 'exact' }) as JsonObject;
  const seen: unknown[] = [];
  const { stage } = withHooks({}, { beforeCall: ({ call }) => void seen.push(call.arguments) });
  const { next } = keeping();
  await stage(aCall({ input }), next);
  expect(seen).toEqual([{ n: '12345678901234567890' }]);
});
