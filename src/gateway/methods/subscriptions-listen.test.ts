import { expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import type { Call, JsonObject } from '../../core/call.ts';
import { ada } from '../../core/fixtures.ts';
import type { Heddle } from '../../heddle.ts';
import { openContinuations } from '../continuations/continuations.ts';
import type { RequestContext } from '../request-context.ts';
import { callRunner } from './run-call.ts';
import { listenToChanges } from './subscriptions-listen.ts';

verifies(
  'R6',
  'sends an early update after the acknowledgement and ends its subscriptions with the request',
  async () => {
    const subscriptions: Call[] = [];
    const heddle = {
      async dispatch(call: Call) {
        subscriptions.push(call);
        call.onProgress?.({ uri: call.name });
        return { kind: 'complete', value: {}, isError: false, provenance: { server: 's', attempts: 1, latencyMs: 1 } };
      },
      async *changes() {
        yield { kind: 'catalog', subject: 'prompts', detail: {} };
      },
    } as unknown as Heddle;
    const sent: [string, JsonObject][] = [];
    const notify = (method: string, params: JsonObject) => sent.push([method, params]) > 0;
    const context: RequestContext = { id: 7, era: 'modern', caller: ada, signal: new AbortController().signal, notify };
    const notifications = { promptsListChanged: true, toolsListChanged: 1, resourceSubscriptions: ['u:1', 'u:1', 2] };
    const _meta = { 'io.modelcontextprotocol/subscriptionId': 7 };
    expect(
      await listenToChanges(
        { heddle, runCall: callRunner(heddle, openContinuations(heddle)) },
        { notifications },
        context,
      ),
    ).toEqual({
      _meta,
    });
    expect(sent).toEqual([
      [
        'notifications/subscriptions/acknowledged',
        { notifications: { promptsListChanged: true, resourceSubscriptions: ['u:1'] }, _meta },
      ],
      ['notifications/resources/updated', { uri: 'u:1', _meta }],
      ['notifications/prompts/list_changed', { _meta }],
    ]);
    expect(subscriptions.map(({ kind, name, signal }) => [kind, name, signal.aborted])).toEqual([
      ['subscription', 'u:1', true],
    ]);
  },
);
