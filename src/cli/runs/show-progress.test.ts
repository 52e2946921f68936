import { Writable } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';
import { expect, vi } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { logEvent } from './fixtures.ts';
import { showRunProgress } from './show-progress.ts';

function screenOf(size: { readonly isTTY?: boolean; readonly rows?: number; readonly columns?: number }) {
  const writes: string[] = [];
  const stream = new Writable({
    write(chunk, _encoding, done) {
      writes.push(String(chunk));
      done();
    },
  });
  return { stream: Object.assign(stream, size) as unknown as NodeJS.WriteStream, writes };
}

verifies('W6', 'the tree on a terminal is redrawn in place with one write, and cut to its width', () => {
  vi.useFakeTimers();
  const { stream, writes } = screenOf({ isTTY: true, rows: 24, columns: 24 });
  const progress = showRunProgress(stream, () => 2000);
  progress.add([logEvent('search', 'start', 1000), logEvent('a-very-long-name-of-a-step', 'start', 1000)]);
  vi.advanceTimersByTime(100);
  progress.add([logEvent('search', 'complete', 1500)]);
  progress.end();
  progress.end();
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
  expect(writes).toHaveLength(2);
  expect(writes[1]?.startsWith('\x1b[2A\r')).toBe(true); // The cursor moves up two lines.
  const lines = writes.map((one) => stripVTControlCharacters(one).trim().split('\n'));
  expect(lines).toEqual([
    ['… search  1.0 s', '… a-very-long-name-of-a…'],
    ['✓ search  500 ms', '… a-very-long-name-of-a…'],
  ]);
});

verifies('W6', 'a terminal that reports 0 columns counts as one of 80', () => {
  const { stream, writes } = screenOf({ isTTY: true, rows: 0, columns: 0 });
  const progress = showRunProgress(stream, () => 2000);
  progress.add([logEvent('a-very-long-name-of-a-step', 'start', 1000)]);
  progress.end();
  expect(stripVTControlCharacters(writes.join('')).trim()).toBe('… a-very-long-name-of-a-step  1.0 s');
});

verifies('W6', 'a prompt is written below the tree, and the tree goes on below the prompt', async () => {
  const { stream, writes } = screenOf({ isTTY: true, rows: 24, columns: 80 });
  const progress = showRunProgress(stream, () => 2000);
  progress.add([logEvent('ok', 'start', 1000)]);
  await progress.aside(async () => stream.write('Approve it? '));
  progress.add([logEvent('ok', 'complete', 2000)]);
  progress.end();
  expect(writes.map(stripVTControlCharacters)).toEqual(['\r… ok  1.0 s\n', 'Approve it? ', '\r✓ ok  1.0 s\n']);
});

verifies('W6', 'without a terminal each end of a step is one line, and items are silent unless they fail', () => {
  const { stream, writes } = screenOf({});
  const progress = showRunProgress(stream, () => 2000);
  progress.add([
    logEvent('pages', 'start', 1000),
    logEvent('pages/[0]/fetch', 'start', 1000),
    logEvent('pages/[0]/fetch', 'complete', 1200),
    logEvent('pages/[1]/fetch', 'error', 1200, 'Gone.\u001b[2J'),
    logEvent('pages', 'complete', 1500),
    logEvent('both/a/a', 'complete', 1500),
    logEvent('both/b/c', 'complete', 1500),
    logEvent('sub', 'start', 1500),
  ]);
  progress.add([logEvent('sub', 'complete', 1500)], 'sub/');
  progress.end();
  expect(writes.map(stripVTControlCharacters)).toEqual([
    '✗ pages/[1]/fetch  Gone.\\u{001b}[2J\n',
    '✓ pages  500 ms\n',
    '✓ both/a\n', // The branch has the name of its only step.
    '✓ both/b/c\n',
    '✓ sub/sub\n', // A step of a run that the step began.
  ]);
});
