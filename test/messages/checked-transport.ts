import { expect, onTestFinished } from 'vitest';
import { messageChecker } from './message-checker.ts';

type OnMessage = (message: never, extra?: never) => void;

interface SdkTransport {
  onmessage?: OnMessage;
  send(message: never, options?: never): Promise<void>;
}

/** Collects violations of the published schemas. The test fails with them when it ends. */
export function violations(): string[] {
  const found: string[] = [];
  onTestFinished(() => expect(found, 'messages that violate the published schema').toEqual([]));
  return found;
}

/**
 * Checks each message that an SDK transport receives against the published schema of its protocol version. A client in a
 * process of its own has no test to fail, so its messages are not checked.
 */
export function checked<T extends object>(transport: T): T {
  if (expect.getState().currentTestName === undefined) return transport;
  const checker = messageChecker();
  const found = violations();
  const target = transport as unknown as SdkTransport;
  const send = target.send.bind(target);
  target.send = (message, options) => {
    checker.sent(message);
    return send(message, options);
  };
  let handler: OnMessage | undefined;
  const deliver: OnMessage = (message, extra) => {
    const violation = checker.received(message);
    if (violation !== undefined) found.push(`${violation}\n${JSON.stringify(message).slice(0, 2000)}`);
    handler?.(message, extra);
  };
  const wrapped = Object.getOwnPropertyDescriptor(transport, 'onmessage');
  Object.defineProperty(transport, 'onmessage', {
    get: wrapped?.get ?? (() => handler && deliver),
    set: (next: OnMessage | undefined) => {
      handler = next;
      wrapped?.set?.(next && deliver);
    },
  });
  return transport;
}
