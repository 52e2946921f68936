import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import { gatewayUnderTest, JSON_HEADERS } from '../../src/gateway/fixtures.ts';
import { verifies } from '../requirements.ts';
import { temporaryFolder } from '../temporary-heddle.ts';

const SERVER = join(import.meta.dirname, '../servers/counting-server.mjs');

/** Conditions with the arguments of a call that each must deny, and of a neighbour that it must let pass. */
const CASES: readonly (readonly [when: string, denied: string, passed: string])[] = [
  ['args.id == 1234567890123456789', '{"id":1234567890123456789}', '{"id":1234567890123456788}'],
  ['args.id == 1234567890123456789', '{"id":1234567890123456789.0}', '{"id":1234567890123456790}'],
  ['args.id == 1234567890123456789', '{"id":12345678901234567890e-1}', '{"id":12345678901234567900e-1}'],
  ['args.id == -9223372036854775808', '{"id":-9223372036854775808}', '{"id":-9223372036854775807}'],
  ['args.id == 18446744073709551615u', '{"id":18446744073709551615}', '{"id":18446744073709551614}'],
  ['args.port in [22u]', '{"port":22}', '{"port":23}'],
  ['4u in args.l', '{"l":[3,4]}', '{"l":[3,5]}'],
  ['args.l == [4u]', '{"l":[4]}', '{"l":[5]}'],
  ['args.m == {"a":1u}', '{"m":{"a":1}}', '{"m":{"a":2}}'],
  ['args.a + args.b > 9007199254740993', '{"a":9007199254740993,"b":1}', '{"a":9007199254740992,"b":1}'],
  ['double(args.amount) > 100.0', '{"amount":"NaN"}', '{"amount":"99"}'],
  ['args.total / args.count > 100', '{"total":0,"count":0}', '{"total":100,"count":1}'],
];

verifies('G3', 'a call with a number that a rule denies is denied, in whatever form the rule has it', async () => {
  const counts = join(await temporaryFolder(), 'counts');
  const demo = { command: process.execPath, args: [SERVER], env: { COUNTS: counts } };
  const policies = CASES.map(([when], at) => ({
    name: `exact ${at}`,
    effect: 'deny',
    tools: ['mcp__demo__allowed'],
    when: `args.case == ${at} && ${when}`,
    reason: 'It is denied.',
  }));
  const gateway = await gatewayUnderTest({ config: { mcpServers: { demo }, policies } });
  const call = async (at: number, input: string) => {
    const params = `{"name":"mcp__demo__allowed","arguments":${input.replace('{', `{"case":${at},`)}}`;
    const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`;
    return (await gateway.send({ headers: JSON_HEADERS, body })).text;
  };
  const counted = async () => (await readFile(counts, 'utf8').catch(() => '')).split('\n').length - 1;
  for (const [at, [when, denied, passed]] of CASES.entries()) {
    expect(await call(at, denied), `${when} ${denied}`).toContain(`policies: exact ${at}`);
    expect(await counted(), when).toBe(at);
    await call(at, passed);
    expect(await counted(), `${when} ${passed}`).toBe(at + 1);
  }
});
