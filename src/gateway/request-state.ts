import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from 'node:crypto';
import type { Call, Continuation, JsonObject } from '../core/call.ts';
import type { Clock } from '../core/clock.ts';
import { canonicalJson, isObject, parseJson } from '../core/json.ts';

/** What a state belongs to: who asked for what. */
export type Bound = Pick<Call, 'id' | 'kind' | 'name' | 'input' | 'caller'>;

/** What was sealed: how the call goes on, and the id it began with. */
export interface Opened {
  readonly callId: string;
  readonly next: Continuation;
  /** It waits in a process that is not this one. */
  readonly isElsewhere: boolean;
}

/** Why a state is not believed. For the audit log: whoever sent it learns only that it is no good. */
export type Distrust =
  | 'not-text'
  | 'too-long'
  | 'malformed'
  | 'unknown-key'
  | 'forged'
  | 'foreign-principal'
  | 'other-call'
  | 'expired';

/** Gives clients without a session what they bring back with their answers, and believes only that. */
export interface RequestStates {
  seal(next: Continuation, call: Bound): string;
  open(text: unknown, call: Bound): Opened | Distrust;
}

export interface RequestStatesOptions {
  /** The first seals, all open. One made for this process alone when there is none. */
  readonly secrets?: readonly Buffer[];
  readonly clock?: Clock;
  readonly random?: (bytes: number) => Buffer;
}

interface Key {
  readonly id: string;
  readonly bytes: Buffer;
}

const CIPHER = 'aes-256-gcm';
const IV_BYTES = 12;
const TAG_BYTES = 16;
const KEY_BYTES = 32;
const OWNER_BYTES = 9;
const MAX_CHARS = 64 * 1024;
/** As long as a call waits for answers. */
export const STATE_TTL_MS = 300_000;
const LABEL = 'heddle/request-state/1';
const FORM = /^(h1\.([A-Za-z0-9_-]{8}))\.([A-Za-z0-9_-]+)$/;

export function requestStates(options: RequestStatesOptions = {}): RequestStates {
  const { clock = Date.now, random = randomBytes } = options;
  const { secrets = [random(KEY_BYTES)] } = options;
  const keys = secrets.map(toKey);
  const [current] = keys;
  if (!current) throw new TypeError('There has to be a secret to seal with.');
  const owner = random(OWNER_BYTES).toString('base64url');

  return {
    seal(next, call) {
      const claims = {
        ...toClaims(next, owner),
        c: call.id,
        p: principalOf(call),
        d: digestOf(call),
        e: Math.ceil((clock() + STATE_TTL_MS) / 1000),
      };
      const label = `h1.${current.id}`;
      const iv = random(IV_BYTES);
      const cipher = createCipheriv(CIPHER, current.bytes, iv, { authTagLength: TAG_BYTES }).setAAD(Buffer.from(label));
      const sealed = [iv, cipher.update(JSON.stringify(claims), 'utf8'), cipher.final(), cipher.getAuthTag()];
      return `${label}.${Buffer.concat(sealed).toString('base64url')}`;
    },
    open(text, call) {
      const claims = readClaims(text, keys);
      if (typeof claims === 'string') return claims;
      if (claims.p !== principalOf(call)) return 'foreign-principal';
      if (claims.d !== digestOf(call)) return 'other-call';
      if (Number(claims.e) * 1000 <= clock()) return 'expired';
      const isElsewhere = claims.o !== undefined && claims.o !== owner;
      return { callId: String(claims.c), next: fromClaims(claims), isElsewhere };
    },
  };
}

function toKey(secret: Buffer): Key {
  const derive = (label: string, bytes: number) => Buffer.from(hkdfSync('sha256', secret, '', label, bytes));
  return { id: derive(`${LABEL}/id`, 6).toString('base64url'), bytes: derive(LABEL, KEY_BYTES) };
}

function readClaims(text: unknown, keys: readonly Key[]): JsonObject | Distrust {
  if (typeof text !== 'string') return 'not-text';
  if (text.length > MAX_CHARS) return 'too-long';
  const [, label = '', id = '', body = ''] = FORM.exec(text) ?? [];
  const bytes = Buffer.from(body, 'base64url');
  // One state is written in one way: what merely decodes to it is not it.
  if (bytes.length <= IV_BYTES + TAG_BYTES || bytes.toString('base64url') !== body) return 'malformed';
  const key = keys.find((one) => one.id === id);
  if (!key) return 'unknown-key';
  try {
    const decipher = createDecipheriv(CIPHER, key.bytes, bytes.subarray(0, IV_BYTES), { authTagLength: TAG_BYTES })
      .setAAD(Buffer.from(label))
      .setAuthTag(bytes.subarray(-TAG_BYTES));
    const plain = Buffer.concat([decipher.update(bytes.subarray(IV_BYTES, -TAG_BYTES)), decipher.final()]);
    const claims = parseJson(plain.toString('utf8'));
    return isObject(claims) ? claims : 'forged';
  } catch {
    return 'forged';
  }
}

function toClaims(next: Continuation, owner: string): JsonObject {
  const { server: s } = next;
  if (next.kind === 'parked') return { k: 'p', s, h: next.ticket, o: owner };
  if (next.kind === 'call-again') return { k: 'r', s, u: next.after };
  return { k: 'o', s, ...(next.state !== undefined && { u: next.state }) };
}

/** Only what we sealed ourselves comes this far. */
function fromClaims({ k, s, u, h }: JsonObject): Continuation {
  const server = String(s);
  if (k === 'p') return { kind: 'parked', server, ticket: String(h) };
  if (k === 'r') return { kind: 'call-again', server, after: u as readonly string[] };
  return { kind: 'upstream', server, ...(u !== undefined && { state: String(u) }) };
}

const sha256 = (value: JsonObject[string]) => createHash('sha256').update(canonicalJson(value)).digest('base64url');

/** The caller, not the token: tokens are renewed between rounds. */
const principalOf = ({ caller }: Bound) => sha256([caller.id, caller.profile ?? null]).slice(0, 22);
/** Without `_meta`, which may change between rounds. */
const digestOf = ({ kind, name, input }: Bound) => sha256([kind, name, input]);
