import { expect } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { aCall } from '../core/fixtures.ts';
import { LOG_MESSAGE, lineLog } from './line-log.ts';

verifies('P1', 'what a server logs without saying during which call is told to nobody who shares its line', () => {
  const heard: string[] = [];
  const callOf = (id: string) =>
    aCall({
      caller: { id, roles: [], via: 'gateway' },
      log: { level: 'debug', tell: ({ data }) => heard.push(`${id} ${data}`) },
    });
  const log = lineLog();
  log.hear(LOG_MESSAGE, { data: 'before' });
  log.sending(callOf('ada'));
  log.hear(LOG_MESSAGE, { data: 'hers' });
  log.hear('notifications/other', { data: 'no log' });
  log.sending(callOf('eve'));
  log.hear(LOG_MESSAGE, { data: 'whose?' });
  log.sending(callOf('ada'));
  log.hear(LOG_MESSAGE, { data: 'whose?' });
  expect(heard).toEqual(['ada hers']);
});
