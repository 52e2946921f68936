import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { filesBelow, findLeaks, secretsOf } from '../e2e/leak-search.ts';
import { verifies } from '../requirements.ts';
import { type Page, scriptedBrowser } from '../servers/scripted-browser.ts';
import { pageIn, signInGateway, textOf } from '../servers/sign-in-gateway.ts';

for (const hasIssuer of [true, false]) {
  const caller = hasIssuer ? 'with an inbound token' : 'with an API key';
  verifies('A6', `the pages and the store show no secret of a caller ${caller}`, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'heddle-pages-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const { call, credentialOf, authorizationServer, issuer, gateway } = await signInGateway({
      ...{ hasIssuer, store: join(folder, 'heddle.sqlite') },
    });
    const credential = await credentialOf('ada');
    const refused = await call(credential);
    const browser = scriptedBrowser();
    const pages: Page[] = [await browser.open(pageIn(textOf(refused)))];
    const submit = async (fields: Record<string, string>) => {
      const last = pages.at(-1);
      if (last) pages.push(await browser.submit(last, fields));
    };
    await submit(hasIssuer ? {} : { credential });
    if (hasIssuer) await submit({ login: 'ada' });
    await submit({ login: 'ada@notes' });
    expect(pages.at(-1)?.body).toContain('Signed in');
    const result = await call(credential);
    expect(textOf(result)).toBe('ada@notes');

    const secrets = new Map([
      ...[...secretsOf(authorizationServer)].map(([name, secret]) => [`${name} of the server`, secret] as const),
      ...[...(issuer ? secretsOf(issuer) : [])].map(([name, secret]) => [`${name} of the issuer`, secret] as const),
      ...([...browser.cookies(new URL(gateway.url).origin)] as [string, string][]),
      ...[['gateway secret', 'gateway-secret'] as const, ['credential', credential] as const],
    ]);
    expect(secrets.size).toBeGreaterThan(hasIssuer ? 8 : 4);
    const shown = pages.map(({ body }, at) => [`page ${at}`, body] as const);
    const places = new Map([...shown, ['results', JSON.stringify([refused, result])], ...filesBelow(folder)]);
    expect([...places.keys()]).toContain(`the rows of ${join(folder, 'heddle.sqlite')}`);
    expect(findLeaks(secrets, places)).toEqual([]);
  });
}
