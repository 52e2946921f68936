import { expect } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { allowedKinds, isLoopbackUrl } from './address-source.ts';

const kindsFor = (
  address: string,
  written: string,
  document?: { url: string; kind: 'public' | 'private' | 'loopback' },
) => [...allowedKinds(new URL(address), { written, ...(document && { document }) })].toSorted();

verifies('A7', 'allows every network for a written address', () => {
  expect(kindsFor('https://mcp.corp/', 'https://mcp.corp/mcp')).toEqual(['loopback', 'private', 'public']);
});

verifies('A7', 'allows a private address to a document of the same host or of a private network, over https', () => {
  const written = 'https://mcp.example/mcp';
  const ofPublic = { url: 'https://mcp.example/metadata', kind: 'public' } as const;
  const ofPrivate = { url: 'https://mcp.corp/metadata', kind: 'private' } as const;
  expect(kindsFor('https://as.corp/', written, ofPublic)).toEqual(['public']);
  expect(kindsFor('https://as.corp/', written, { url: 'https://127.0.0.1/', kind: 'loopback' })).toEqual(['public']);
  expect(kindsFor('https://mcp.example/token', written, ofPublic)).toEqual(['private', 'public']);
  expect(kindsFor('https://as.corp/', written, ofPrivate)).toEqual(['private', 'public']);
  expect(kindsFor('http://as.corp/', written, ofPrivate)).toEqual(['public']);
  expect(kindsFor('http://mcp.example/', written, ofPublic)).toEqual(['public']);
});

verifies('A7', 'allows loopback to a document only if the operator wrote loopback', () => {
  const document = { url: 'https://mcp.corp/metadata', kind: 'private' } as const;
  expect(kindsFor('http://127.0.0.1:8080/', 'https://mcp.corp/mcp', document)).toEqual(['public']);
  for (const written of ['http://localhost:3000/mcp', 'http://127.0.0.1/', 'http://[::1]/', 'http://app.localhost/']) {
    expect(kindsFor('http://127.0.0.1:8080/', written, { url: written, kind: 'loopback' })).toContain('loopback');
  }
  expect(['http://localhost.example/', 'http://127.0.0.1.example/', 'nonsense'].filter(isLoopbackUrl)).toEqual([]);
});
