import { stripVTControlCharacters } from 'node:util';
import { expect, it } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import type { RunEvent } from '../../core/records/run.ts';
import { logEvent, runEvent } from './fixtures.ts';
import { elapsedText, stepLines } from './step-lines.ts';
import { openStepTree } from './step-tree.ts';

function lines(events: readonly RunEvent[], max = 40): readonly string[] {
  const tree = openStepTree();
  for (const one of events) tree.add(one);
  return stepLines(tree.root, { now: 5000, columns: 60 }, max).map(stripVTControlCharacters);
}

verifies('W6', 'the tree shows each step with its state, its time and its error', () => {
  const shown = lines([
    logEvent('search', 'start', 1000),
    logEvent('search/brave', 'start', 1000),
    logEvent('search/tavily', 'start', 1000),
    logEvent('search/tavily', 'error', 1300, 'Step search/tavily failed: It broke.\n✓ forged'),
    logEvent('search/brave', 'complete', 2200),
    logEvent('search', 'complete', 2200),
    logEvent('note', 'skip', 2200, 'Its condition is false.'),
    logEvent('digest', 'start', 3000),
  ]);
  expect(shown).toEqual([
    '✓ search  1.2 s',
    '  ✓ brave  1.2 s',
    String.raw`  ✗ tavily  300 ms  failed: It broke.\n✓ forged`,
    '– note  Its condition is false.',
    '… digest  2.0 s',
  ]);
});

verifies('W6', 'a step that waits or is in doubt says so until it goes on', () => {
  const begun = [logEvent('ok', 'start', 1000), runEvent('waiting', 'ok', 1100, { approval: 'ap_1' })];
  expect(lines(begun)).toEqual(['… ok  4.0 s  waits for the approval ap_1']);
  expect(lines([...begun, logEvent('ok', 'complete', 2000)])).toEqual(['✓ ok  1.0 s']);
  const sent = [logEvent('pay', 'start', 1000), runEvent('doubt', 'pay', 3000)];
  expect(lines(sent)).toEqual(['? pay  4.0 s  may have happened or not']);
});

verifies('W6', 'a compensation is a step below its own, and timeouts are not shown', () => {
  const shown = lines([
    logEvent('flag', 'start', 1000),
    runEvent('timer', 'flag/~timeout', 1000, { from: 1000, forMs: 9000 }),
    logEvent('flag', 'complete', 1100),
    logEvent('flag/~compensate', 'start', 2000),
    logEvent('flag/~compensate', 'complete', 2100),
  ]);
  expect(shown).toEqual(['✓ flag  100 ms', '  ✓ compensate  100 ms']);
});

verifies('W3', 'a step that is repeated names the attempt that it waits for, and its attempts at the end', () => {
  const failed = [logEvent('get', 'start', 1000), runEvent('timer', 'get/~retry/2', 1000, { from: 1000, forMs: 500 })];
  expect(lines(failed)).toEqual(['… get  4.0 s  attempt 2 waits until…']);
  const sent = [...failed, runEvent('fired', 'get/~retry/2', 1500)];
  expect(lines(sent)).toEqual(['… get  4.0 s  attempt 2']);
  expect(lines([...sent, logEvent('get', 'complete', 2000)])).toEqual(['✓ get  1.0 s  2 attempts']);
  const gone = logEvent('get', 'error', 2000, 'Step get failed: Gone.');
  expect(lines([...sent, gone])).toEqual(['✗ get  1.0 s  2 attempts, failed: Gone.']);
});

verifies('W6', 'steps that are open when their step or their run ends are shown as cancelled', () => {
  const race = [
    logEvent('race', 'start', 1000),
    logEvent('race/a', 'start', 1000),
    logEvent('race/b', 'start', 1000),
    logEvent('race/a', 'complete', 1100),
    logEvent('race', 'complete', 1100),
  ];
  expect(lines(race)).toEqual(['✓ race  100 ms', '  ✓ a  100 ms', '  – b  cancelled']);
  const nap = [logEvent('nap', 'start', 1000), runEvent('timer', 'nap', 1000, { from: 1000, forMs: 9000 })];
  expect(lines([...nap, runEvent('ended', '', 2000)])).toEqual(['– nap  cancelled']);
});

verifies('W6', 'a branch of one step of its name is shown as this step', () => {
  const paths = ['p', 'p/a/a', 'p/b/b', 'p/b/c', 'sub', 'sub/sub'];
  expect(lines(paths.map((path) => logEvent(path, 'start', 1000)))).toEqual([
    '… p  4.0 s',
    '  … a  4.0 s',
    '  b',
    '    … b  4.0 s',
    '    … c  4.0 s',
    '… sub  4.0 s',
    '  … sub  4.0 s',
  ]);
});

verifies('W6', 'many items are counted, and only the open and failed ones are shown', () => {
  const items = Array.from({ length: 12 }, (_, at) => [
    logEvent(`pages/[${at}]/fetch`, 'start', 1000),
    ...(at === 11 ? [] : [logEvent(`pages/[${at}]/fetch`, at === 3 ? 'error' : 'complete', 1500, 'Not found.')]),
  ]).flat();
  expect(lines([logEvent('pages', 'start', 1000), ...items])).toEqual([
    '… pages  4.0 s',
    '  12 items: ✓ 10  … 1  ✗ 1',
    '  [3]',
    '    ✗ fetch  500 ms  Not found.',
    '  [11]',
    '    … fetch  4.0 s',
  ]);
});

verifies('W6', 'a tree longer than the terminal leaves out what is done, then its beginning', () => {
  const done = [
    logEvent('a', 'start', 0),
    logEvent('a/x', 'start', 0),
    logEvent('a/x', 'complete', 1),
    logEvent('a', 'complete', 1),
  ];
  const events = [...done, logEvent('b', 'start', 0), logEvent('c', 'start', 0)];
  expect(lines(events, 3)).toEqual(['✓ a  1 ms', '… b  5.0 s', '… c  5.0 s']);
  expect(lines(events, 2)).toEqual(['(2 more steps above)', '… c  5.0 s']);
});

it('formats times', () => {
  expect([340, 1234, 65_000].map(elapsedText)).toEqual(['340 ms', '1.2 s', '1 min 5 s']);
});
