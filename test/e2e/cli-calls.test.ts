import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { verifies } from '../requirements.ts';
import { recordingServer, text } from '../servers/recording-server.ts';
import { project, SERVERS } from './heddle-command.ts';

const ODD = join(SERVERS, 'odd-tools.mjs');
const CONFIG = { '.mcp.json': { mcpServers: { odd: { command: process.execPath, args: [ODD] } } } };

describe('heddle call', () => {
  const HI = { message: 'hi', times: 2 };

  it.each([
    ['server.tool', ['odd.echo', 'message=hi', 'times:=2'], HI],
    ['its public name', ['mcp__odd__echo', 'message=hi', 'times:=2'], HI],
    ['its own name', ['echo', 'message=hi', 'times:=2'], HI],
    ['options before it', ['--timeout', '9000', 'odd.echo', 'message=hi', 'times:=2'], HI],
    ['arguments in JSON', ['odd.echo', '--args', JSON.stringify(HI)], HI],
    [
      'JSON, and arguments that override it',
      ['odd.echo', 'times:=3', '--args', JSON.stringify(HI)],
      { ...HI, times: 3 },
    ],
    ['arguments in a file', ['odd.echo', '--args', '@input.json'], HI],
    ['arguments on stdin', ['odd.echo', '--args', '-'], HI],
    ['text that looks like an argument', ['odd.echo', 'message=a=b:=c\nd'], { message: 'a=b:=c\nd' }],
    ['an empty text', ['odd.echo', 'message='], { message: '' }],
    [
      'JSON of every kind',
      ['odd.echo', 'message=x', 'a:=[1,{"b":null}]', 'c:="q"'],
      { message: 'x', a: [1, { b: null }], c: 'q' },
    ],
  ])('L2: takes %s', async (_, args, expected) => {
    const { heddle } = project({ ...CONFIG, 'input.json': HI });
    const { code, stdout, stderr } = await heddle(['call', ...args], { stdin: JSON.stringify(HI) });
    expect([code, stderr]).toEqual([0, '']);
    expect(JSON.parse(stdout)).toEqual(expected);
  });

  verifies('L2', 'starts an ad-hoc server for one call', async () => {
    const { heddle } = project();
    const outcome = await heddle(['call', '--', process.execPath, ODD, '::', 'plain', 'message=hi']);
    expect(outcome).toEqual({ code: 0, stdout: 'hi\n', stderr: '' });
    const json = await heddle(['call', '--json', '--', process.execPath, ODD, '::', 'plain', 'message=hi']);
    expect(JSON.parse(json.stdout)).toEqual(text('hi'));
  });

  verifies('L2', 'calls a server by its URL', async () => {
    const { gatewayUnderTest } = await import('../../src/gateway/fixtures.ts');
    const open = { authenticate: () => ({ id: 'anyone', roles: ['user' as const], via: 'gateway' as const }) };
    const { url } = await gatewayUnderTest({ servers: { up: recordingServer({ do: () => text('there') }) }, ...open });
    const outcome = await project().heddle(['call', url, 'mcp__up__do']);
    expect(outcome).toEqual({ code: 0, stdout: 'there\n', stderr: '' });
  });

  verifies('L3', 'prints only the result on stdout, and an error of the tool on stderr', async () => {
    const { heddle } = project(CONFIG);
    expect(await heddle(['call', 'odd.fail'])).toEqual({ code: 1, stdout: '', stderr: '  | It did not work.\n' });
    const json = await heddle(['call', 'odd.fail', '--json']);
    expect([json.code, JSON.parse(json.stdout)]).toEqual([1, { ...text('It did not work.'), isError: true }]);
    const picture = await heddle(['call', 'odd.picture']);
    expect(picture.stdout).toBe('[image image/png, 4 base64 characters; --json shows it]\n');
  });
});

describe('heddle call with invalid arguments', () => {
  it.each([
    ['a word that is no argument', ['odd.echo', 'hi'], 'hi is not an argument'],
    ['JSON that is none', ['odd.echo', 'message:=hi'], 'the value of message is not JSON'],
    ['--args that is no object', ['odd.echo', '--args', '[1]'], '--args is not a JSON object'],
    ['a file that is not there', ['odd.echo', '--args', '@none.json'], 'none.json cannot be read'],
    ['a prototype', ['odd.echo', '__proto__=x'], '__proto__=x is not an argument'],
    ['an unknown server', ['zzz', 'foo', 'a=1'], 'No server is named zzz.'],
    ['JSON that is no argument', ['odd', 'echo', '{"message":"hi"}'], "--args '{…}'"],
    ['no tool', [], 'No tool to call was given'],
    ['a tool that is an argument', ['message=hi'], 'No tool to call was given'],
    ['a server without a tool', ['--', 'node', 'x'], 'then `::`, then a tool'],
    [
      'a timeout that is no number',
      ['odd.echo', 'message=x', '--timeout', 'soon'],
      '--timeout has to be a duration, not soon.',
    ],
    ['input that does not fit', ['odd.echo', 'times:=1'], 'message'],
  ])('L5: names %s and a fix', async (_, args, message) => {
    const { code, stdout, stderr } = await project(CONFIG).heddle(['call', ...args]);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain(message);
    expect(stderr).toMatch(/\n {2}fix: \S/);
  });
});
