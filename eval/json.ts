import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openGateway } from '../src/gateway/open-gateway.ts';
import { openHeddle } from '../src/open-heddle.ts';

const SUITE = 'security/jsontestsuite/test_parsing';
const ANSWER_MS = 5000;
const PARSE_ERROR = -32700;
/** JSON, but not to us: what we check must be what the next reader sees. */
const REFUSED = /^y_object_duplicated_key/;

/** Posts every file of the suite to a gateway. False when one is not answered, or not as it deserves. */
export async function evaluateJson(data: string): Promise<boolean> {
  const folder = join(data, SUITE);
  if (!existsSync(folder)) {
    process.stdout.write(`${SUITE} is not in the data folder: nothing to post.\n`);
    return true;
  }
  const files = readdirSync(folder).filter((name) => name.endsWith('.json'));
  const post = await openPost();
  const wrong: string[] = [];
  try {
    for (const name of files) {
      const answer = await post(readFileSync(join(folder, name)));
      if (!isRight(name, answer)) wrong.push(`${name}: ${answer}`);
    }
    const alive = await post(Buffer.from('{"jsonrpc":"2.0","id":1,"method":"ping"}'));
    if (alive !== 'a result') wrong.push(`a ping after all that: ${alive}`);
  } finally {
    await post.close();
  }
  process.stdout.write(`${files.length} files posted, ${wrong.length} answered wrongly\n${wrong.join('\n')}`);
  return wrong.length === 0;
}

/** No file of the suite is a message: the best are refused as no message, the rest as no JSON. */
function isRight(name: string, answer: number | string): boolean {
  if (typeof answer === 'string') return false;
  if (name.startsWith('n_') || REFUSED.test(name)) return answer === PARSE_ERROR;
  return name.startsWith('i_') || answer !== PARSE_ERROR;
}

async function openPost() {
  const folder = mkdtempSync(join(tmpdir(), 'heddle-eval-'));
  const heddle = await openHeddle({ cwd: folder, env: { HEDDLE_HOME: join(folder, 'home') } });
  const gateway = await openGateway({
    heddle,
    host: '127.0.0.1',
    port: 0,
    maxBodyBytes: 4 * 1024 * 1024,
    allowedHosts: [],
    allowedOrigins: [],
    authenticate: () => ({ id: 'eval', roles: ['user'], via: 'gateway' }),
    api: async ({ response }) => void response.writeHead(404).end(),
  });

  /** The code of the error that came back, or else what came. */
  async function post(body: Buffer<ArrayBuffer>): Promise<number | string> {
    try {
      const headers = { 'content-type': 'application/json' };
      const signal = AbortSignal.timeout(ANSWER_MS);
      const response = await fetch(gateway.url, { method: 'POST', headers, body, signal });
      const { error } = (await response.json()) as { error?: { code: number } };
      return error?.code ?? 'a result';
    } catch (thrown) {
      return String(thrown);
    }
  }

  async function close(): Promise<void> {
    await gateway.close();
    await heddle.close();
    rmSync(folder, { recursive: true, force: true });
  }
  return Object.assign(post, { close });
}
