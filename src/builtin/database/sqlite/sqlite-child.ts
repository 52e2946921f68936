// The program of a child: it runs the requests of its parent, one at a time, and ends with its stdin.
import { type ChildReply, type ChildRequest, COMMIT } from './child-messages.ts';
import { toSqliteFailure } from './explain-sqlite.ts';
import { type PendingCommit, runRequest } from './run-request.ts';

let pending: PendingCommit | undefined;

function answer(line: string): ChildReply {
  try {
    if (pending) {
      const { commit } = pending;
      pending = undefined;
      if (line !== COMMIT) throw new Error('expected a commit');
      return commit();
    }
    const result = runRequest(JSON.parse(line) as ChildRequest);
    if (!('commit' in result)) return result;
    pending = result;
    return { ready: true };
  } catch (thrown) {
    const { code, message } = toSqliteFailure(thrown);
    return { error: { code, message } };
  }
}

let chunks: string[] = [];
process.stdin.setEncoding('utf8');
process.stdin.on('data', (chunk: string) => {
  chunks.push(chunk);
  // The parent sends a line and waits for its reply, so a line is the end of a chunk.
  if (!chunk.endsWith('\n')) return;
  const line = chunks.join('').trimEnd();
  chunks = [];
  process.stdout.write(`${JSON.stringify(answer(line))}\n`);
});
process.stdin.on('end', () => process.exit());
