import { expect } from 'vitest';
import { verifies } from '../../../../test/requirements.ts';
import { NO_CAPABILITIES } from '../../../core/call/client-capabilities.ts';
import type { Caller, ClientCapabilities } from '../../../core/call.ts';
import { getsRequests } from './private-connection.ts';

const caller: Caller = { id: 'ann', roles: ['user'], via: 'gateway' };
const mayGetRequests = (capabilities?: ClientCapabilities) =>
  getsRequests({ caller, ...(capabilities && { capabilities }) });

verifies('T13', 'sends no input requests to a client that declares extensions alone', () => {
  expect(mayGetRequests()).toBe(false);
  expect(mayGetRequests({ ...NO_CAPABILITIES, extensions: { 'com.example/maps': {} } })).toBe(false);
  expect(mayGetRequests({ ...NO_CAPABILITIES, roots: true })).toBe(true);
});
