import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { StoreDatabase } from '../database.ts';
import { openSqlite } from './open-sqlite.ts';

const ROW = { segment: 's', sequence: 1, hash: 'h', link: null, call_id: 'c', phase: 'intent', at: 1 } as const;
const RECORD = { ...ROW, caller: 'a', via: 'cli', name: 'n', detail: JSON.stringify({ text: 'x'.repeat(200) }) };

let folder: string;
let database: StoreDatabase;

beforeEach(async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  folder = mkdtempSync(join(tmpdir(), 'heddle-checkpoint-'));
  database = await openSqlite(join(folder, 'heddle.db'), folder, { clock: () => 0 });
});
afterEach(async () => {
  await database.close();
  rmSync(folder, { recursive: true });
  vi.useRealTimers();
});

const write = (count: number) => database.write({ records: Array.from({ length: count }, () => RECORD), spans: [] });
const fileBytes = () => statSync(join(folder, 'heddle.db')).size;

it('moves the log into the database after one second without a write', () => {
  const before = fileBytes();
  write(1_000);
  vi.advanceTimersByTime(999);
  write(1);
  vi.advanceTimersByTime(999);
  expect(fileBytes()).toBe(before);
  vi.advanceTimersByTime(1);
  expect(fileBytes()).toBeGreaterThan(before + 1_000 * 200);
});

it('does not move a short log', () => {
  const before = fileBytes();
  write(999);
  vi.advanceTimersByTime(60_000);
  expect(fileBytes()).toBe(before);
});
