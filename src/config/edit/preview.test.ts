import { expect, it } from 'vitest';
import { previewText, previewValue } from './preview.ts';

it('redacts secret values in a text, and keeps layout, comments and references', () => {
  const text = `{
  // "TOKEN": the comment stays
  "a": { "command": "x", "args": ["--token", "hidden1", "--port", "1", "--key=v", "--api-key=hidden2", "ann:hidden8@tcp(h)/d"],
    "env": { "GITHUB_PAT": "hidden3", "ZONE": "Europe/Berlin", "REF": "\${NAME}", "KEPT": "\${secret:a.b}", "DEFAULT": "\${NAME:-hidden4}" } },
  "b": { "url": "https://u:hidden5@h/?access_token=hidden6", "headers": { "Authorization": "Bearer \${T}" } },
  "c": { "oauth": { "clientId": "seen", "clientSecret": "hidden7" }, "n": 1, }
}
`;
  const shown = previewText(text);
  expect(shown).not.toMatch(/hidden\d/);
  for (const kept of [
    '"${NAME}"',
    '${secret:a.b}',
    'Bearer ${T}',
    '"seen"',
    '"Europe/Berlin"',
    '"1"',
    '// "TOKEN": the comment stays',
  ]) {
    expect(shown).toContain(kept);
  }
  expect(shown.split('\n')).toHaveLength(text.split('\n').length);
});

it('does not change a text without secrets', () => {
  const text = '{ "a": { "command": "x", "args": ["y"] } } // end';
  expect(previewText(text)).toBe(text);
  expect(previewText('')).toBe('');
});

it('treats a value by the same rule', () => {
  expect(previewValue({ env: { A: 'x', B: '${B}', C_TOKEN: 'y' }, timeoutMs: 5 })).toEqual({
    env: { A: 'x', B: '${B}', C_TOKEN: '[REDACTED]' },
    timeoutMs: 5,
  });
});

it.each([
  ['LOG_LEVEL', 'ERROR'],
  ['PORT', '3000'],
  ['READ_ONLY', 'true'],
  ['DATA_FOLDER', '/home/ann/Documents/notes 2024'],
  ['BASE_URL', 'https://wiki.example.com/rest/api'],
  ['AWS_REGION', 'eu-central-1'],
  ['X-Zone', 'UTC'],
  ['MODEL', 'gpt-4o-mini'],
])('shows %s=%s, which is no secret', (name, value) => {
  expect(previewValue({ env: { [name]: value }, headers: { [name]: value } })).toEqual({
    env: { [name]: value },
    headers: { [name]: value },
  });
});

it.each([
  ['GITHUB_PERSONAL_ACCESS_TOKEN', 'x'],
  ['API_KEY', 'plain'],
  ['DB_PASS', 'tree'],
  ['DB_PW', 'tree'],
  ['Authorization', 'Bearer abc'],
  ['Cookie', 'a=b'],
  ['ANY', 'sk-0123456789abcdef'],
  ['ANY', 'ghp_abcdefgh12345'],
  ['ANY', '0f8fad5b-d9cb-469f-a165-70867728950e'],
  ['ANY', 'https://hooks.example.com/services/T01234567/B01234567/abcdefABCDEF012345678901'],
  ['ANY', 'postgres://ann:tree@db.example.com/app'],
  ['ANY', 'https://h.example.com/?k=v'],
  ['ANY', 'abcdefghijklmnopqrstuvwxyzabcdef'],
  ['ANY', '{"password": "tree"}'],
  ['DATABASE_URL', 'ann:tree@tcp(localhost:3306)/app'],
  ['HTTP_PROXY', 'ann:tree@proxy.example.com:8080'],
  ['dbPwd', 'tree'],
  ['DB_PASSWORD', 12345678],
  ['PIN', 1234],
])('hides %s=%s', (name, value) => {
  expect(previewValue({ env: { [name]: value } })).toEqual({ env: { [name]: '[REDACTED]' } });
});
