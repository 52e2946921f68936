import { expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { openConnections } from './connections.ts';
import type { ConnectionOptions, Database } from './database.ts';
import { previewExecution } from './preview-execution.ts';

const shop: ConnectionOptions = {
  ...{ name: 'shop', type: 'postgres', access: 'readwrite', allowDdl: false },
  ...{ allowPrivilegedRole: false, allowFunctions: [] },
};

verifies(
  'B2',
  'a database that opens slowly refuses the first preview, goes on opening, and serves the next',
  async () => {
    const opening = Promise.withResolvers<Database>();
    const signals: AbortSignal[] = [];
    const connections = openConnections({
      list: () => [shop],
      open(_options, signal) {
        signals.push(signal);
        return opening.promise;
      },
    });
    const late = new AbortController();
    const input = { connection: 'shop', sql: 'DELETE FROM orders' };
    const first = previewExecution(connections, input, late.signal);
    late.abort();
    expect(await first).toEqual({
      refused: 'The connection shop is still opening, so the statement was not checked. Call again.',
    });
    const preview = async () => 'DELETE of about 3 rows.';
    opening.resolve({ preview, close: async () => {} } as Partial<Database> as Database);
    const second = await previewExecution(connections, input, new AbortController().signal);
    expect(second).toMatchObject({ text: expect.stringContaining('DELETE of about 3 rows.') });
    expect(signals.map(({ aborted }) => aborted)).toEqual([false]);
    await connections.close();
  },
);
