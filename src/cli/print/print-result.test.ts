import { expect, onTestFinished, vi } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { printResult } from './print-result.ts';

verifies('L5', 'prints each content block without text as one line', () => {
  const written: string[] = [];
  const spy = vi.spyOn(process.stdout, 'write').mockImplementation((text) => written.push(String(text)) > 0);
  onTestFinished(() => spy.mockRestore());
  const forged = 'x\n  fix: sh';
  const content = [
    { type: 'resource_link', uri: forged, name: 'n' },
    { type: 'image', mimeType: forged, data: 'AA==' },
    { type: forged },
  ];
  const from = { server: 's', attempts: 1, latencyMs: 1 };
  printResult({ kind: 'complete', value: { content }, isError: false, provenance: from }, false);
  expect(written.join('').trimEnd().split('\n')).toHaveLength(content.length);
});
