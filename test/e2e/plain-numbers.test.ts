import { expect } from 'vitest';
import type { JsonObject } from '../../src/core/call.ts';
import { verifies } from '../requirements.ts';
import { temporaryHeddleClient } from '../temporary-heddle.ts';
import { until } from '../until.ts';

const SERVER = `
  const hello = { protocolVersion: '2025-11-25', capabilities: { tools: {}, logging: {} }, serverInfo: { name: 'up', version: '1' } };
  const tools = [{ name: 'count', inputSchema: { type: 'object' }, annotations: { readOnlyHint: true } }];
  const write = (text) => process.stdout.write(text + '\\n');
  const note = (method, params) => write('{"jsonrpc":"2.0","method":"' + method + '","params":' + params + '}');
  require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
    const { id, method, params } = JSON.parse(line);
    if (id === undefined) return;
    if (method !== 'tools/call') {
      const result = { initialize: hello, 'tools/list': { tools } }[method];
      const body = result ? { result } : { error: { code: -32601, message: 'unknown' } };
      return write(JSON.stringify({ jsonrpc: '2.0', id, ...body }));
    }
    const token = JSON.stringify(params._meta.progressToken);
    note('notifications/progress', '{"progressToken":' + token + ',"progress":9007199254740993,"total":1e400}');
    note('notifications/message', '{"level":"info","data":{"ids":[9007199254740993]}}');
    write('{"jsonrpc":"2.0","id":' + id + ',"result":{"content":[],"structuredContent":{"id":9007199254740993}}}');
  });`;

verifies('X1', 'a program gets progress, notifications and results with plain numbers', async () => {
  const up = { command: process.execPath, args: ['-e', SERVER] };
  const heddle = await temporaryHeddleClient({ env: {}, servers: { up } });
  const steps: JsonObject[] = [];
  const logged: JsonObject[] = [];
  heddle.onNotification({ method: 'notifications/message' }, ({ params }) => void logged.push(params));
  const { value } = await heddle.call('up.count', {}, { onProgress: (progress) => void steps.push(progress) });
  await until('the notification arrives', () => logged.length > 0);
  expect(steps).toMatchObject([{ progress: 9007199254740992, total: Number.MAX_VALUE }]);
  expect(logged).toMatchObject([{ data: { ids: [9007199254740992] } }]);
  expect(value.structuredContent).toEqual({ id: 9007199254740992 });
});
