import { expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { isOwnEntry } from './own-entry.ts';

verifies('C12', 'recognises Heddle as a server, and no other server that works on a folder named heddle', () => {
  const own = [
    { command: 'heddle', args: ['serve', '--stdio'] },
    { command: '/usr/bin/node', args: ['/opt/heddle/bin/heddle', 'serve', '--stdio'] },
    { command: ['npx', 'heddle', 'serve', '--stdio', '--profile', 'support'] },
  ];
  const others = [
    { command: 'git-server', args: ['serve', '--stdio', '/home/ann/heddle'] },
    { command: 'serve', args: ['--stdio', 'heddle'] },
    { command: 'heddle', args: ['serve'] },
  ];
  expect(own.map((entry) => isOwnEntry('any', entry))).toEqual([true, true, true]);
  expect(others.map((entry) => isOwnEntry('any', entry))).toEqual([false, false, false]);
});
