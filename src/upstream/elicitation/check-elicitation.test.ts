import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../core/call.ts';
import { findElicitationProblem } from './check-elicitation.ts';

const formWith = (name: string, property: JsonObject) => ({
  message: 'Please',
  requestedSchema: { type: 'object', properties: { [name]: { type: 'string', ...property } } },
});

describe('rejected elicitations', () => {
  it.each<[string, JsonObject]>([
    ['password', {}],
    ['newPassword', {}],
    ['user_passwd', {}],
    ['APIKey', {}],
    ['api-key', {}],
    ['githubToken', {}],
    ['clientSecret', {}],
    ['ＰＡＳＳＷＯＲＤ', {}],
    ['pin', { type: 'integer' }],
    ['card_number', { type: 'number' }],
    ['cvv', {}],
    ['otp', { type: 'integer' }],
    ['value', { title: 'Your pass phrase' }],
    ['value', { title: 'Seed phrase' }],
    ['value', { description: 'Paste your access token here.' }],
    ['value', { description: 'The password of your account' }],
    ['value', { format: 'password' }],
    ['value', { title: 'Password: type it here' }],
    ['value', { title: 'Password name' }],
    ['password_name', {}],
    ['passwords', {}],
    ['api_keys', {}],
    ['auth_code', {}],
    ['value', { description: 'Paste your GitHub token' }],
    ['value', { description: 'Enter the secret from the console' }],
    ['value', { description: 'Do not hesitate to enter your password' }],
  ])('T10: rejects a field for a secret: %s %j', (name, property) => {
    expect(findElicitationProblem(formWith(name, property))).toContain('asks for a secret');
  });

  it.each<[string, JsonObject]>([
    ['monkey', {}],
    ['keyboard', {}],
    ['maxTokens', { type: 'integer' }],
    ['tokenLimit', { type: 'integer' }],
    ['tokenType', {}],
    ['passwordPolicy', {}],
    ['savePassword', { type: 'boolean' }],
    ['auth', { enum: ['token', 'password'] }],
    ['message', { description: 'Pin it to the board' }],
    ['opinion', {}],
    ['passenger', {}],
    ['secretary', {}],
    ['value', { description: 'A number (do not enter your phone number, PIN, or other sensitive info)' }],
    ['value', { description: 'Your name. Don’t type your password here.' }],
    ['token_name', {}],
    ['secretId', {}],
    ['compass', {}],
    ['address', {}],
    ['note', { description: 'How many tokens it may spend is shown below' }],
  ])('T10: accepts a field that only resembles a secret: %s %j', (name, property) => {
    expect(findElicitationProblem(formWith(name, property))).toBeUndefined();
  });

  const formWithMessage = (message: string, property: JsonObject) => ({ ...formWith('value', property), message });

  it.each(['Enter your password', 'Paste your GitHub token below', 'What is your PIN?', 'API keys, please'])(
    'T10: a form whose message names the secret: %s',
    (message) => {
      expect(findElicitationProblem(formWithMessage(message, {}))).toContain('asks for a secret');
    },
  );

  it.each<[string, JsonObject]>([
    ['Keep the password?', { type: 'boolean' }],
    ['How many tokens may it spend?', { type: 'integer' }],
    ['Enter a name for the new API key', {}],
    ['The token has expired. Which account is it?', {}],
  ])('T10: accepts a message that only mentions a secret: %s', (message, property) => {
    expect(findElicitationProblem(formWithMessage(message, property))).toBeUndefined();
  });

  it.each<[string, unknown]>([
    ['no message', { requestedSchema: { type: 'object', properties: {} } }],
    ['an endless message', { message: 'x'.repeat(10_001), requestedSchema: { type: 'object', properties: {} } }],
    ['another mode', { mode: 'hologram', message: 'x' }],
    ['no form', { message: 'x' }],
    ...['http://example.com', 'javascript:alert(1)', 'file:///etc/passwd', 'no', 7, 'https://bank.com@evil.com/'].map(
      (url): [string, unknown] => [`the URL ${url}`, { mode: 'url', message: 'x', url }],
    ),
  ])('T10: %s', (_, params) => {
    expect(findElicitationProblem(params as JsonObject)).toEqual(expect.any(String));
  });

  it.each(['https://example.com/a?b', 'http://localhost:3000/', 'http://127.0.0.1/', 'http://[::1]:8/'])(
    'T10: but the URL %s is shown',
    (url) => {
      expect(findElicitationProblem({ mode: 'url', message: 'x', url })).toBeUndefined();
    },
  );
});
