import { expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { readDatabaseUrl } from './database-url.ts';

verifies('B2', 'reads host, port, database, user and password of a URL', () => {
  for (const [url, address] of [
    ['postgres://h', { host: 'h' }],
    ['mysql://u%40x:p%23%2Fw@h:1/a%20b', { host: 'h', port: 1, database: 'a b', username: 'u@x', password: 'p#/w' }],
    [
      'postgres://u@[::1]:5432/d?sslmode=verify-full',
      { host: '::1', port: 5432, database: 'd', username: 'u', ssl: true },
    ],
    ['postgres://%2Fvar%2Frun/d?ssl=false', { host: '/var/run', database: 'd', ssl: false }],
  ] as const) {
    expect(readDatabaseUrl(url)).toEqual({ address });
  }
});

verifies('B2', 'refuses a URL that names another host, a file or an option, and shows no part of it', () => {
  for (const [rest, problem] of [
    ['h/d?host=evil', 'other parameters'],
    ['h/d?sslmode=require&user=evil', 'other parameters'],
    ['h/d?sslrootcert=/etc/passwd', 'other parameters'],
    ['h/d?options=-csearch_path%3Devil', 'other parameters'],
    ['h/d?multipleStatements=true', 'other parameters'],
    ['h/d?flags=LOCAL_FILES', 'other parameters'],
    ['h/d?__proto__=x', 'other parameters'],
    ['u:12?secret@h/d', 'other parameters'],
    ['h/d?sslmode=no-verify', 'another sslmode'],
    ['h/d?ssl=%7B%22rejectUnauthorized%22%3Afalse%7D', 'another ssl'],
    ['h/d?sslmode=require&sslmode=disable', 'for TLS and for none'],
    ['/d', 'no host'],
    ['u:secret@/d', 'not a URL'],
    ['h:1,evil:2/d', 'not a URL'],
    ['h%00.evil/d', 'characters that no host has'],
    ['h%20evil/d', 'characters that no host has'],
    ['h,evil/d', 'characters that no host has'],
    ['u%00replication%00true@h/d', 'control characters'],
    ['u:100%secret@h/d', '`%25`'],
  ] as const) {
    const read = readDatabaseUrl(`postgres://${rest}`);
    expect.soft(read, rest).toEqual({ problem: expect.stringContaining(problem) });
    expect.soft(JSON.stringify(read)).not.toMatch(/secret|evil|passwd/);
  }
});
