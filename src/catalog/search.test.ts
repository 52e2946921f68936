import { describe, expect, it } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import type { JsonObject } from '../core/call.ts';
import { anEntry, catalogOf, tool } from './fixtures.ts';
import { searchTargets, wordsOf } from './search.ts';

type Tools = Readonly<Record<string, readonly JsonObject[]>>;

const said = (name: string, description: string, more: JsonObject = {}) => tool(name, { description, ...more });

const TOOLS: Tools = {
  github: [
    said('create_issue', 'Opens a ticket in a repository.'),
    said('list_issues', 'Shows every ticket of a repository.'),
    said('createPullRequest', 'Proposes a change.'),
    said('search', 'Finds code. Searching for an issue is done elsewhere.'),
  ],
  mail: [
    said('send', 'Sends a message to one person. May create an issue for any reader of it.', {
      inputSchema: { type: 'object', properties: { recipient: { type: 'string' } } },
    }),
    said('search', 'Looks through messages.', { title: 'Find mail' }),
  ],
  cn: [said('read', '读取文件的内容'), said('write', '写入数据库')],
};

function found(text: string, tools: Tools = TOOLS, limit = 10): readonly string[] {
  const catalog = catalogOf(
    Object.fromEntries(Object.entries(tools).map(([name, list]) => [name, [list, anEntry()] as const])),
  );
  const { targets, spellings } = catalog;
  const hits = searchTargets(targets, { text, limit, spellings });
  expect(searchTargets(targets.toReversed(), { text, limit, spellings })).toEqual(hits);
  return hits.map(({ target, reason }) => `${target.servers[0]}.${target.name} (${reason})`);
}

describe('search', () => {
  verifies('R6', 'puts an exact name first, in any accepted spelling', () => {
    for (const name of ['github.create_issue', 'mcp__github__create_issue', 'CREATE_ISSUE', ' create_issue ']) {
      expect(found(name)[0], name).toBe('github.create_issue (exact name)');
    }
  });

  verifies('R6', 'puts words of the name before words of the description', () => {
    expect(found('issue')).toEqual([
      'github.create_issue (name)',
      'github.list_issues (name)',
      'github.search (description)',
      'mail.send (description)',
    ]);
  });

  verifies('R6', 'puts a tool named by exactly these words before tools with more matches elsewhere', () => {
    expect(found('create issue')[0]).toBe('github.create_issue (name)');
    expect(found('create pull request')[0]).toBe('github.createPullRequest (name)');
    const tools = { issue: [said('create', '')], zeta: [said('create_issue', '')] };
    expect(found('create issue', tools)[0]).toBe('zeta.create_issue (name)');
  });

  verifies('F3', 'reads 200 different words of a description, however often it repeats them', () => {
    const distinct = Array.from({ length: 250 }, (_, at) => `w${1000 + at}`);
    const tools = { a: [said('many', distinct.join(' '))], b: [said('repeated', `${'x '.repeat(900)}last`)] };
    expect(['w1199', 'w1200', 'last'].map((word) => found(word, tools).length)).toEqual([1, 0, 1]);
  });

  it('counts a rare word for more than a common one', () => {
    const common = Array.from({ length: 20 }, (_, index) => said(`file_${index}`, 'About a file.'));
    expect(found('file lock', { fs: [...common, said('zz_lock', 'Locks.')] })[0]).toBe('fs.zz_lock (name)');
  });

  it('finds by server, title, category and argument', () => {
    expect(found('mail')).toEqual(['mail.search (name)', 'mail.send (name)']);
    expect(found('find')).toEqual(['mail.search (description)', 'github.search (description)']);
    expect(found('recipient')).toEqual(['mail.send (description)']);
  });

  it('finds the singular by the plural, and the other way round', () => {
    expect(found('tickets').toSorted()).toEqual([
      'github.create_issue (description)',
      'github.list_issues (description)',
    ]);
    expect(found('issues')[0]).toBe('github.list_issues (name)');
  });

  it('finds words of languages without spaces', () => {
    expect(found('文件')).toEqual(['cn.read (description)']);
  });

  it('finds nothing for an empty text or an unknown word', () => {
    for (const text of ['', '   ', '!?', 'zebra']) expect(found(text)).toEqual([]);
  });

  verifies('R6', 'reads 2,048 characters of a title, a description and the arguments', () => {
    const start = 'filler '.repeat(300);
    const long = (last: string): Tools => ({
      long: [
        tool('titled', { title: `early ${start}${last}` }),
        tool('described', { description: `early ${start}${last}` }),
        tool('argued', { inputSchema: { type: 'object', properties: { early: {}, [start]: {}, [last]: {} } } }),
      ],
    });
    expect(found('early', long('late'))).toHaveLength(3);
    expect(found('late', long('late'))).toEqual([]);
  });

  it('returns at most `limit` hits, independent of the order of servers and tools', () => {
    expect(found('search issue', TOOLS, 2)).toHaveLength(2);
    const turned = Object.fromEntries(
      Object.entries(TOOLS)
        .toReversed()
        .map(([name, list]) => [name, list.toReversed()]),
    );
    for (const text of ['search', 'issue', 'create', 'a']) expect(found(text, turned)).toEqual(found(text));
  });
});

it('splits a text into search words', () => {
  expect(wordsOf('getFile_v2 HTTPServer über-setzen')).toEqual([
    'get',
    'file',
    'v2',
    'http',
    'server',
    'über',
    'setzen',
  ]);
  expect(wordsOf('ﬁle')).toEqual(['file']);
  expect(wordsOf('\ud800')).toEqual([]);
});
