import { expect, it } from 'vitest';
import { previewText, previewValue } from './preview.ts';

it('redacts secret values in a text, and keeps layout, comments and references', () => {
  const text = `{
  // "TOKEN": the comment stays
  "a": { "command": "x", "args": ["--token", "hidden1", "--port", "1", "--key=v", "--api-key=hidden2"],
    "env": { "ANY": "hidden3", "REF": "\${NAME}", "KEPT": "\${secret:a.b}", "DEFAULT": "\${NAME:-hidden4}" } },
  "b": { "url": "https://u:hidden5@h/?access_token=hidden6", "headers": { "Authorization": "Bearer \${T}" } },
  "c": { "oauth": { "clientId": "seen", "clientSecret": "hidden7" }, "n": 1, }
}
`;
  const shown = previewText(text);
  expect(shown).not.toMatch(/hidden\d/);
  for (const kept of ['"${NAME}"', '${secret:a.b}', 'Bearer ${T}', '"seen"', '"1"', '// "TOKEN": the comment stays']) {
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
  expect(previewValue({ env: { A: 'x', B: '${B}' }, timeoutMs: 5 })).toEqual({
    env: { A: '[REDACTED]', B: '${B}' },
    timeoutMs: 5,
  });
});
