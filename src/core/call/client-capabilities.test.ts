import { expect, it } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import type { ClientCapabilities } from '../call.ts';
import { capabilitiesKey, hasAnyCapability, hasExtensions, NO_CAPABILITIES } from './client-capabilities.ts';

const UI = 'io.modelcontextprotocol/ui';
const withUi = (settings = {}): ClientCapabilities => ({ ...NO_CAPABILITIES, extensions: { [UI]: settings } });

verifies('T13', 'gives each set of extensions a number below 2^53 that is the same after a restart', () => {
  expect(capabilitiesKey(withUi())).toBe(331_724_497_375_040);
  expect(capabilitiesKey({ ...withUi(), form: true })).toBe(331_724_497_375_041);
  expect(Number.isSafeInteger(capabilitiesKey(withUi({ mimeTypes: ['text/html'] })))).toBe(true);
});

it('gives equal extensions one number, in whatever order they are written', () => {
  const key = (settings: object) => capabilitiesKey(withUi(settings));
  expect(key({ a: 1, b: [1, 2] })).toBe(key({ b: [1, 2], a: 1 }));
  expect(key({ a: 1 })).not.toBe(key({ a: 2 }));
});

it('tells numbers of sets with extensions from those of flags alone', () => {
  const all = { form: true, url: true, sampling: true, samplingTools: true, roots: true, rootsListChanged: true };
  expect([0, capabilitiesKey(all), capabilitiesKey(withUi())].map(hasExtensions)).toEqual([false, false, true]);
});

it('does not count an extension as the ability to handle input requests', () => {
  expect(hasAnyCapability(withUi())).toBe(false);
});
