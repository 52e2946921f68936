import { expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import type { JsonObject } from '../../core/call.ts';
import { changesBetween, undoEdits } from './host-changes.ts';

const entryPath = ['mcpServers', 'heddle'];

const undo = (before: JsonObject, after: JsonObject, now: JsonObject) =>
  undoEdits(now, changesBetween({ before, after, entryPath }), entryPath);

verifies('C12', 'undo enables a server again when the host added to the settings that connect created', () => {
  const after = { mcp: { excluded: ['demo'] } };
  expect(undo({}, after, { mcp: { excluded: ['demo', 'other'], allowed: ['x'] } })).toEqual({
    edits: [{ path: ['mcp', 'excluded'], value: ['other'] }],
    kept: [],
  });
  expect(undo({}, after, { mcp: { excluded: ['demo'], allowed: ['x'] } })).toEqual({
    edits: [{ path: ['mcp', 'excluded'], value: undefined }],
    kept: [],
  });
  expect(undo({}, after, { theme: 'dark', ...after })).toEqual({
    edits: [{ path: ['mcp'], value: undefined }],
    kept: [],
  });
  expect(undo({}, after, { mcp: 'off' })).toEqual({ edits: [], kept: [['mcp']] });
});

verifies('C12', 'undo puts an entry back that connect took out, unless there is another one now', () => {
  const [demo, other] = [{ command: 'a' }, { command: 'b' }];
  const [before, after] = [{ mcpServers: { demo } }, { mcpServers: { heddle: {} } }];
  const path = ['mcpServers', 'demo'];
  expect(undo(before, after, { mcpServers: {} })).toEqual({ edits: [{ path, value: demo }], kept: [] });
  expect(undo(before, after, { mcpServers: { demo: other } })).toEqual({ edits: [], kept: [path] });
});
