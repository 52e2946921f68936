import { describe, expect, onTestFinished } from 'vitest';
import { gatewayUnderTest, TOKEN } from '../../src/gateway/fixtures.ts';
import { verifies } from '../requirements.ts';
import { ELICITATION_CLIENTS } from '../servers/elicitation-clients.ts';
import { elicitingModernServer } from '../servers/eliciting-modern-server.ts';
import { elicitingSessionServer } from '../servers/eliciting-server.ts';

const ANN = { action: 'accept', content: { name: 'Ann', seats: 2, class: 'first' } };
const BOOK_TWICE = {
  heddle: 1,
  steps: [
    { id: 'first', tool: 'demo.book', input: {} },
    { id: 'second', tool: 'demo.book', input: {} },
  ],
};
const SERVERS = { legacy: () => elicitingSessionServer(), modern: () => elicitingModernServer() } as const;
const OUTPUTS = { legacy: ANN, modern: { who: ANN } } as const;

describe.each(['legacy', 'modern'] as const)('a %s client', (era) => {
  verifies('W5', 'responds to the input requests of the steps of its run', async () => {
    const server = await SERVERS[era]();
    onTestFinished(() => server.close());
    const { url } = await gatewayUnderTest({
      servers: { demo: { type: 'http', url: server.url } },
      config: { mode: 'open', workflows: { travel: BOOK_TWICE } },
    });
    const requests: unknown[] = [];
    const client = await ELICITATION_CLIENTS[era](
      { url, token: TOKEN },
      {
        user(method, { message }) {
          requests.push([method, message]);
          return ANN;
        },
      },
    );
    onTestFinished(() => client.close());
    const result = await client.call('mcp__workflow__travel');
    expect(result).toMatchObject({ structuredContent: OUTPUTS[era] });
    expect(requests).toEqual(Array.from({ length: 2 }, () => ['elicitation/create', 'Who is travelling?']));
  });
});
