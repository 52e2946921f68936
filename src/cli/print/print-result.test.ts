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

verifies('F3', 'cuts the text of a failed result before it is escaped, and says so', () => {
  const written: string[] = [];
  const spy = vi.spyOn(process.stderr, 'write').mockImplementation((text) => written.push(String(text)) > 0);
  onTestFinished(() => spy.mockRestore());
  const content = [{ type: 'text', text: '\u0001'.repeat(15_000_000) }];
  const from = { server: 's', attempts: 1, latencyMs: 1 };
  expect(printResult({ kind: 'complete', value: { content }, isError: true, provenance: from }, false)).toBe(1);
  expect(written[0]?.length).toBeLessThan(1_000_000);
  expect(written[0]).toMatch(/… \[cut\]\n$/);
  expect(written[1]).toBe('It has 15000000 characters; --json prints them all.\n');
});
