import { expect } from 'vitest';
import { META, MODERN_VERSION } from '../../src/wire/mcp.ts';
import { verifies } from '../requirements.ts';
import { messageChecker } from './message-checker.ts';

const rpc = (message: object) => ({ jsonrpc: '2.0', ...message });
const modernMeta = { _meta: { [META.protocolVersion]: MODERN_VERSION, [META.clientCapabilities]: {} } };

/** Returns a checker of a session of this version. */
function session(version: string) {
  const checker = messageChecker();
  checker.sent(rpc({ id: 0, method: 'initialize', params: { protocolVersion: version } }));
  const agreed = { protocolVersion: version, capabilities: {}, serverInfo: { name: 's', version: '1' } };
  expect(checker.received(rpc({ id: 0, result: agreed }))).toBeUndefined();
  return checker;
}

/** Returns the verdict on the result of one request. */
function verdict(method: string, result: object, version = MODERN_VERSION): string | undefined {
  const checker = version === MODERN_VERSION ? messageChecker() : session(version);
  checker.sent(rpc({ id: 1, method, params: version === MODERN_VERSION ? modernMeta : {} }));
  return checker.received(rpc({ id: 1, result }));
}

const CACHED = { resultType: 'complete', contents: [], cacheScope: 'private' };

verifies('P1', 'the checker of messages finds a result that violates the schema of its version', () => {
  expect(verdict('resources/read', { ...CACHED, ttlMs: 4250 })).toBeUndefined();
  expect(verdict('resources/read', { ...CACHED, ttlMs: 4250.32 })).toContain('ttlMs must be integer');
  expect(verdict('tools/call', { content: [] })).toContain('resultType');
  for (const version of ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25']) {
    expect(verdict('tools/call', { content: [] }, version)).toBeUndefined();
    expect(verdict('tools/call', { content: 'text' }, version)).toContain('content must be array');
    expect(verdict('tools/list', { tools: [{ name: 'a' }] }, version)).toContain('inputSchema');
    expect(verdict('ping', {}, version)).toBeUndefined();
  }
  const link = { content: [{ type: 'resource_link', uri: 'a:b', name: 'a' }] };
  expect(verdict('tools/call', link, '2025-06-18')).toBeUndefined();
  expect(verdict('tools/call', link, '2025-03-26')).toBeDefined();
});

verifies('P1', 'the checker of messages finds requests, notifications and errors that violate the schema', () => {
  const elicit = rpc({ id: 1, method: 'elicitation/create', params: { message: 'Who?' } });
  expect(session('2025-03-26').received(elicit)).toContain('no method elicitation/create');
  expect(session('2025-11-25').received(elicit)).toContain('requestedSchema');
  const progress = rpc({ method: 'notifications/progress', params: { progressToken: 1, progress: 'half' } });
  expect(session('2025-11-25').received(progress)).toContain('progress must be number');
  expect(session('2025-06-18').received(rpc({ id: 1, error: { code: -32000.5, message: 'm' } }))).toContain('integer');
  expect(messageChecker().received(rpc({ method: 'notifications/tasks', params: {} }))).toBeUndefined();
  expect(session('2025-11-25').received(rpc({ method: 'notifications/tasks', params: {} }))).toContain('no method');
});
