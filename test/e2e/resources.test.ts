import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { expect, onTestFinished } from 'vitest';
import type { OpenOptions } from '../../src/index.ts';
import { verifies } from '../requirements.ts';
import { changingHttpServer, changingLegacyServer } from '../servers/changing-servers.ts';
import { EVERYTHING } from '../servers/everything.ts';
import { temporaryHeddleClient } from '../temporary-heddle.ts';
import { until } from '../until.ts';

const opened = (servers: NonNullable<OpenOptions['servers']>) =>
  temporaryHeddleClient({ env: {}, servers, listWaitMs: 60_000 });

const timeless = (value: unknown) => JSON.parse(JSON.stringify(value).replaceAll(/\d{1,2}:\d\d:\d\d [AP]M/g, 'a time'));

verifies('P1', 'passes resources, prompts and completions of the reference server unchanged', async () => {
  const heddle = await opened({ ref: { command: process.execPath, args: [EVERYTHING] } });
  const direct = new Client({ name: 'test', version: '0' });
  await direct.connect(new StdioClientTransport({ command: process.execPath, args: [EVERYTHING], stderr: 'ignore' }));
  onTestFinished(() => direct.close());

  const { resources } = await direct.listResources();
  const byUri = (a: { uri: string }, b: { uri: string }) => (a.uri < b.uri ? -1 : 1);
  expect((await heddle.resources()).map(({ definition }) => definition)).toEqual([...resources].sort(byUri));
  const { resourceTemplates } = await direct.listResourceTemplates();
  expect((await heddle.resourceTemplates()).map(({ uriTemplate }) => uriTemplate).sort()).toEqual(
    resourceTemplates.map(({ uriTemplate }) => uriTemplate).sort(),
  );
  const uris = [resources[0]?.uri as string, 'demo://resource/dynamic/text/3'];
  for (const uri of uris) {
    expect(timeless((await heddle.readResource(uri)).value)).toEqual(timeless(await direct.readResource({ uri })));
  }
  const { prompts } = await direct.listPrompts();
  expect((await heddle.prompts()).map(({ definition }) => definition.name)).toEqual(
    prompts.map(({ name }) => name).sort(),
  );
  for (const { name, arguments: taken = [] } of prompts) {
    const args = Object.fromEntries(taken.map((one) => [one.name, ARGUMENTS[one.name] ?? '1']));
    const there = await direct.getPrompt({ name, arguments: args });
    expect(timeless((await heddle.getPrompt(`ref.${name}`, args)).value)).toEqual(timeless(there));
  }
  const { completion } = await direct.complete({
    ref: { type: 'ref/prompt', name: 'completable-prompt' },
    argument: { name: 'department', value: 'E' },
  });
  expect(completion.values.length).toBeGreaterThan(0);
  const ours = await heddle.complete({ prompt: 'ref.completable-prompt' }, { name: 'department', value: 'E' });
  expect(ours.value.completion).toEqual(completion);
});

const ARGUMENTS: Readonly<Record<string, string>> = {
  resourceType: 'Text',
  resourceId: '1',
  department: 'Engineering',
  name: 'Alice',
};

verifies('R6', 'a program gets the resource updates of SDK servers of both eras', async () => {
  const modern = await changingHttpServer();
  onTestFinished(() => modern.close());
  const old = changingLegacyServer();
  old.server.registerResource('two', 'note://two', {}, () => ({ contents: [{ uri: 'note://two', text: '2' }] }));
  const heddle = await opened({ modern: { type: 'http', url: modern.url }, old: { connect: old.serve } });
  const told: string[] = [];
  const ends = await Promise.all(
    ['note://one', 'note://two'].map((uri) => heddle.subscribe(uri, (update) => void told.push(update.uri))),
  );
  expect([...old.subscribed]).toEqual(['note://two']);
  await until('both updates have come', () => {
    modern.notify.resourceUpdated('note://one');
    void old.server.server.sendResourceUpdated({ uri: 'note://two' });
    return new Set(told).size === 2;
  });
  expect((await heddle.readResource('note://one')).value).toMatchObject({
    contents: [{ uri: 'note://one', text: '1' }],
  });
  for (const end of ends) end();
  await until('the legacy server gets unsubscribe', () => old.subscribed.size === 0);
});
