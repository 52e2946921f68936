import type { JsonObject } from '../core/call.ts';
import { isObject } from '../core/json.ts';
import type { Heddle } from '../heddle.ts';
import { type Asked, META_KEY } from './asked.ts';

/** `subscriptions/listen`: tells a modern client of changes for as long as it listens. */
export async function listen(heddle: Heddle, { notifications }: JsonObject, asked: Asked): Promise<JsonObject> {
  const wanted = isObject(notifications) && notifications.toolsListChanged === true;
  const _meta = { [META_KEY('subscriptionId')]: asked.id };
  // Before the acknowledgement: what happens right after it must not be missed.
  const changes = wanted ? heddle.changes(asked.caller, asked.signal) : undefined;
  const honoured = wanted ? { toolsListChanged: true } : {};
  asked.notify('notifications/subscriptions/acknowledged', { notifications: honoured, _meta });
  if (!changes) return { _meta };
  for await (const { kind } of changes) {
    if (kind === 'catalog') asked.notify('notifications/tools/list_changed', { _meta });
  }
  return { _meta };
}
