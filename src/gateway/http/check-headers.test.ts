import { describe, expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { recordingServer, text } from '../../../test/servers/recording-server.ts';
import type { JsonObject } from '../../core/call.ts';
import { gatewayUnderTest, modern } from '../fixtures.ts';

const SCHEMA = {
  type: 'object',
  properties: {
    region: { type: 'string', 'x-mcp-header': 'Region' },
    count: { type: 'integer', 'x-mcp-header': 'Count' },
    dry: { type: 'boolean', 'x-mcp-header': 'Dry' },
    note: { type: 'string' },
  },
};
const base64 = (value: string) => `=?base64?${Buffer.from(value).toString('base64')}?=`;

const AGREEING: readonly (readonly [JsonObject, Record<string, string>])[] = [
  [{}, {}],
  [{ note: 'x' }, {}],
  [{ region: 'west' }, { 'mcp-param-region': 'west' }],
  [{ region: 'Köln' }, { 'Mcp-Param-Region': base64('Köln') }],
  [{ region: 'SGVsbG8=' }, { 'mcp-param-region': 'SGVsbG8=' }],
  [{ region: '=?base64?SGVsbG8=' }, { 'mcp-param-region': '=?base64?SGVsbG8=' }],
  [
    { count: 42, dry: false },
    { 'mcp-param-count': '42', 'mcp-param-dry': 'false' },
  ],
  [{ count: 42 }, { 'mcp-param-count': '42.0' }],
];
const DIFFERING: readonly (readonly [JsonObject, Record<string, string>])[] = [
  [{ region: 'west' }, {}],
  [{ region: 'west' }, { 'mcp-param-region': 'east' }],
  [{}, { 'mcp-param-region': 'west' }],
  [{ region: 'Hello' }, { 'mcp-param-region': '=?base64?SGVsbG8?=' }],
  [{ region: 'Hello' }, { 'mcp-param-region': '=?base64?SGV%sbG8=?=' }],
  [{ count: 42 }, { 'mcp-param-count': '0x2a' }],
  [{ count: 0 }, { 'mcp-param-count': '' }],
  [{ dry: false }, { 'mcp-param-dry': 'False' }],
];

async function gatewayToTool() {
  const server = recordingServer({ ship: () => text('shipped') }, () => ({
    inputSchema: SCHEMA,
    annotations: { readOnlyHint: true },
  }));
  const gateway = await gatewayUnderTest({ servers: { up: server } });
  const call = (input: JsonObject, headers: Record<string, string>) => {
    const [message, standard] = modern('tools/call', { name: 'mcp__up__ship', arguments: input });
    return gateway.post(message, { ...standard, ...headers });
  };
  return { call, server, gateway };
}

describe('Mcp-Param headers', () => {
  verifies('P6', 'that repeat the arguments are accepted', async () => {
    const { call, server } = await gatewayToTool();
    for (const [input, headers] of AGREEING) {
      const { status, json } = await call(input, headers);
      expect([input, headers, status, json.error]).toEqual([input, headers, 200, undefined]);
    }
    expect(server.calls).toHaveLength(AGREEING.length);
  });

  verifies('P6', 'that differ from the arguments get 400 and -32020, and the server is not called', async () => {
    const { call, server } = await gatewayToTool();
    for (const [input, headers] of DIFFERING) {
      const { status, json } = await call(input, headers);
      expect([input, headers, status, json]).toMatchObject([input, headers, 400, { id: 1, error: { code: -32020 } }]);
    }
    expect(server.calls).toEqual([]);
  });

  verifies('P6', 'are checked in the call, so that the audit log records a mismatch', async () => {
    const { call, gateway } = await gatewayToTool();
    await call({ region: 'west' }, { 'mcp-param-region': 'east' });
    await call({ region: 'west' }, { 'mcp-param-region': 'west' });
    const outcomes = (await gateway.audit()).filter(({ phase }) => phase === 'outcome');
    expect(outcomes.map(({ detail }) => detail.outcome)).toEqual(['ok', 'INPUT_INVALID']);
  });
});
