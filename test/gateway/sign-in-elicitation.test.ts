import { expect, onTestFinished } from 'vitest';
import type { JsonObject } from '../../src/core/call.ts';
import { verifies } from '../requirements.ts';
import { ELICITATION_CLIENTS } from '../servers/elicitation-clients.ts';
import { scriptedBrowser } from '../servers/scripted-browser.ts';
import { signInGateway, textOf } from '../servers/sign-in-gateway.ts';

for (const era of ['legacy', 'modern'] as const) {
  verifies('A6', `elicits the sign-in of a ${era} client by URL, and the same call succeeds`, async () => {
    const { gateway, credentialOf } = await signInGateway({ era });
    const token = await credentialOf('ada');
    const elicited: JsonObject[] = [];
    const completed: string[] = [];
    const client = await ELICITATION_CLIENTS[era](
      { url: gateway.url, token },
      {
        capabilities: { elicitation: { url: {} } },
        onElicitationComplete: (id) => completed.push(id),
        // The user agrees first and signs in afterwards: the call has to wait.
        user(_method, params) {
          elicited.push(params as JsonObject);
          void signIn(String(params.url), token);
          return { action: 'accept' };
        },
      },
    );
    onTestFinished(() => client.close());
    const result = await client.call('mcp__notes__whoami');
    expect(textOf(result as JsonObject)).toBe('ada_account');
    expect(elicited).toMatchObject([{ mode: 'url', url: expect.stringContaining('/connect/') }]);
    if (era === 'legacy') expect(completed).toEqual([elicited[0]?.elicitationId]);
  });
}

async function signIn(url: string, credential: string): Promise<void> {
  const browser = scriptedBrowser();
  const page = await browser.submit(await browser.open(url), { credential });
  await browser.submit(page, { login: 'ada_account' });
}
