import { expect, it } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import type { JsonObject } from '../../core/call.ts';
import { declaredExtensions } from './declared-extensions.ts';

const UI = 'io.modelcontextprotocol/ui';
const MAPS = { 'com.example/maps': { zoom: 3 } };

it('has the extensions of the last handshake, and before it those of an earlier process', () => {
  const extensions = declaredExtensions({ remembered: MAPS, tools: () => [] });
  expect([extensions.declared(), extensions.has('com.example/maps'), extensions.has('toString')]).toEqual([
    MAPS,
    true,
    false,
  ]);
  extensions.take({ extensions: { 'com.example/other': {} } });
  expect(['com.example/maps', 'com.example/other'].map(extensions.has)).toEqual([false, true]);
  extensions.take({ tools: {} });
  expect(extensions.declared()).toBeUndefined();
});

verifies(
  'T13',
  'has the extensions that the entry of the server names, before and after a handshake without them',
  () => {
    const extensions = declaredExtensions({ configured: ['com.example/maps'], remembered: undefined, tools: () => [] });
    expect([extensions.has('com.example/maps'), extensions.declared()]).toEqual([true, undefined]);
    extensions.take({ tools: {} });
    expect(extensions.has('com.example/maps')).toBe(true);
  },
);

verifies('T13', 'has MCP Apps if a tool has a view, of whichever list', () => {
  const hasUi = (tool: JsonObject) =>
    declaredExtensions({ remembered: undefined, tools: () => [[{ name: 'plain' }], [tool]] }).has(UI);
  expect(hasUi({ name: 'a', _meta: { ui: { resourceUri: 'ui://a/view' } } })).toBe(true);
  expect(hasUi({ name: 'a', _meta: { 'ui/resourceUri': 'ui://a/view' } })).toBe(true);
  expect(hasUi({ name: 'a', _meta: { other: 1 } })).toBe(false);
  const privately = declaredExtensions({ remembered: undefined, tools: () => [] });
  privately.takeTools([{ name: 'a', _meta: { ui: {} } }]);
  expect([privately.has(UI), privately.declared()]).toEqual([true, undefined]);
});
