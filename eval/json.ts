import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openGateway } from '../src/gateway/open-gateway.ts';
import { openHeddle } from '../src/open-heddle.ts';

const SUITE = 'security/jsontestsuite/test_parsing';
const RESPONSE_MS = 5000;
const PARSE_ERROR = -32700;
/** Valid JSON that Heddle rejects: with repeated names, the server could read another value than Heddle checked. */
const REJECTED = /^y_object_duplicated_key/;

/** Posts every file of the suite to a gateway. Returns false if a response is missing or has the wrong error code. */
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
      const outcome = await post(readFileSync(join(folder, name)));
      if (!isExpected(name, outcome)) wrong.push(`${name}: ${outcome}`);
    }
    const alive = await post(Buffer.from('{"jsonrpc":"2.0","id":1,"method":"ping"}'));
    if (alive !== 'a result') wrong.push(`the ping after all files: ${alive}`);
  } finally {
    await post.close();
  }
  process.stdout.write(`${files.length} files posted, ${wrong.length} with a wrong response\n${wrong.join('\n')}`);
  return wrong.length === 0;
}

/** Checks an error code. No file is a JSON-RPC message: valid JSON is an invalid request, the rest a parse error. */
function isExpected(name: string, outcome: number | string): boolean {
  if (typeof outcome === 'string') return false;
  if (name.startsWith('n_') || REJECTED.test(name)) return outcome === PARSE_ERROR;
  return name.startsWith('i_') || outcome !== PARSE_ERROR;
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

  /** Returns the error code of the response, or a description of another outcome. */
  async function post(body: Buffer<ArrayBuffer>): Promise<number | string> {
    try {
      const headers = { 'content-type': 'application/json' };
      const signal = AbortSignal.timeout(RESPONSE_MS);
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
