import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { verifies } from '../requirements.ts';
import { ROOT } from './temporary-tree.ts';

const MEASURES = /performance\.now|Date\.now|memoryUsage|hrtime/;
const WAITS = /\bsleep\(|\bsetTimeout\(|\bsetTimeout as\b/;
// A deadline of ten seconds or more, written as a number, holds on a busy machine too.
const SHORT_DEADLINE = /AbortSignal\.timeout\((?!\d{2,}_\d{3}\)|\d{5,}\))/;
const measures = (text: string) => [MEASURES, WAITS, SHORT_DEADLINE].some((pattern) => pattern.test(text));

/** The files that may read a clock or the memory or wait, with the reason. None depends on the load of the machine. */
const ALLOWED: Readonly<Record<string, string>> = {
  'test/limits.ts': 'checks time and memory in soak runs only',
  'test/until.ts': 'has the deadline of a test that fails',
  'test/house/measured.test.ts': 'names what it looks for',
  'test/e2e/elicitation.test.ts': 'waits in soak runs only',
  'src/agent/code/run-code.test.ts': 'is in the code that the test runs',
  'test/house/start.test.ts': 'is in the program that the test starts, which ends by itself',
  'test/servers/eliciting-server.ts': 'sends a notification after the response, as a server does',
  'test/servers/conformance-fixture-tasks.ts': 'takes the time that the conformance suite demands',
  'test/servers/conformance-fixture-tools.ts': 'takes the time that the conformance suite demands',
  'test/servers/dated-legacy.ts': 'takes the time that its caller passes',
  'test/servers/dated-modern.ts': 'takes the time that its caller passes',
  'test/servers/running-process.ts': 'polls in the program that the test starts',
  'test/servers/task-server.ts': 'takes the time that its caller passes',
  'test/faults/byte-by-byte.test.ts': 'counts the bytes on the heap after a forced collection',
  'test/faults/http-refusals.test.ts': 'writes a Retry-After date',
  'test/builtin/filesystem/escape.test.ts': 'spreads the moments of a race; no assertion depends on them',
  'test/catalog/invoke-model.test.ts': 'cancels calls at some moment; each outcome is allowed then',
  'test/gateway/fuzz.test.ts': 'has the deadline of a test that fails',
  'src/gateway/http/fast-head.test.ts': 'has the deadline of a test that fails',
  'src/gateway/auth/jwt.test.ts': 'writes the expiry of a token',
  'test/compose/system-clock.test.ts': 'sets a fake clock',
  'src/store/audit/write-queue.test.ts': 'passes a clock on',
  'src/upstream/protocol/call-legacy.test.ts': 'waits on fake timers',
  'test/upstream/slow-negotiation.test.ts': 'waits on fake timers',
  'src/upstream/transports/stdio-transport.test.ts': 'is in the program that the test starts',
  'src/upstream/lifecycle/private/private-connections.test.ts': 'passes a clock on',
  'test/servers/sign-in-directly.ts': 'writes the expiry of a token',
  'test/auth/calling-process.ts': 'passes a clock on',
  'test/auth/outage.test.ts': 'passes a clock on',
  'test/auth/peer-failures.test.ts': 'passes a clock on',
  'src/upstream/auth/grants/authorization-code.test.ts': 'passes a clock on',
  'src/upstream/auth/grants/machine-credential.test.ts': 'passes a clock on',
  'src/upstream/auth/grants/cross-app-access.test.ts': 'dates the tokens of a sign-in',
  'test/e2e/cross-app-access.test.ts': 'passes a clock on',
  'test/conformance/auth-scenarios.ts': 'dates the tokens of a sign-in',
  'test/servers/user-servers.ts': 'dates the tokens of a sign-in',
  'test/e2e/recent-failures.test.ts': 'dates a stored failure',
  'src/workflow/engines/embedded-takeover.test.ts': 'sets a fake clock',
};

verifies('F11', 'no test asserts time or memory outside a soak run', () => {
  const files = globSync(['src/**/*.test.ts', 'test/**/*.ts'], { cwd: ROOT });
  expect(files.length).toBeGreaterThan(300);
  const measuring = files.filter((file) => measures(readFileSync(join(ROOT, file), 'utf8')));
  expect(measuring.filter((file) => ALLOWED[file] === undefined)).toEqual([]);
  expect(Object.keys(ALLOWED).filter((file) => !measuring.includes(file))).toEqual([]);
});

verifies('F11', 'finds sleeps and short deadlines however they are written', () => {
  const found = [
    'await sleep(5)',
    'setTimeout(resolve, 2)',
    "import { setTimeout as wait } from 'node:timers/promises'",
    'AbortSignal.timeout(500)',
    'AbortSignal.timeout(1_000)',
    'AbortSignal.timeout(SOON_MS)',
  ];
  expect(found.filter((text) => !measures(text))).toEqual([]);
  const harmless = ["import { setImmediate as turn } from 'node:timers/promises'", 'AbortSignal.timeout(60_000)'];
  expect(harmless.filter(measures)).toEqual([]);
});
