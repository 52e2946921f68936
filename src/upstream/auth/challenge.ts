import type { Challenge, Refusal } from './credential.ts';

// A header is 16 kB at most in Node; a server that needs more of these limits is not signed in to.
const MAX_HEADER_CHARS = 16_384;
const MAX_CHALLENGES = 16;
const MAX_PARAMS = 32;
export const MAX_SCOPES = 100;
const MAX_SCOPE_CHARS = 256;

const SEPARATORS = /[ \t]*(?:,[ \t]*)*/y;
const SCHEME = /[\w!#$%&'*+.^`|~-]+(?=[ \t]|,|$)/y;
const SPACES = /[ \t]+/y;
const TOKEN68 = /[\w.~+/-]+=*(?=[ \t]*(?:,|$))/y;
// Servers write URLs without quotes, which the grammar does not allow. Nothing is misread by accepting them.
const PARAM = /([\w!#$%&'*+.^`|~-]+)[ \t]*=[ \t]*(?:"((?:[\t !#-[\]-~\x80-\xff]|\\[\t -~\x80-\xff])*)"|([!#-+\--~]+))/y;
const END_OF_PARAM = /[ \t]*(?:,|$)/y;
const SCOPE_TOKEN = /^[!#-[\]-~]+$/;

/** Returns all challenges of `WWW-Authenticate`. A malformed header line, or one over the limits, counts as absent. */
export function parseChallenges(header: string | readonly string[] | undefined): readonly Challenge[] {
  const lines = header === undefined ? [] : typeof header === 'string' ? [header] : header;
  return lines.flatMap((line) => parseLine(line) ?? []).slice(0, MAX_CHALLENGES);
}

function parseLine(line: string): readonly Challenge[] | undefined {
  if (line.length > MAX_HEADER_CHARS) return undefined;
  const found: Challenge[] = [];
  const at = cursor(line);
  for (at.take(SEPARATORS); !at.isEnd(); at.take(SEPARATORS)) {
    const scheme = at.take(SCHEME)?.[0].toLowerCase();
    const params = scheme === undefined ? undefined : parseParams(at);
    if (scheme === undefined || !params || found.length === MAX_CHALLENGES) return undefined;
    found.push({ scheme, params });
  }
  return found;
}

/** Parses what follows a scheme: a token68, which is skipped, or parameters. A name that occurs twice is malformed. */
function parseParams(at: Cursor): Challenge['params'] | undefined {
  const params = new Map<string, string>();
  if (!at.take(SPACES) || at.take(TOKEN68)) return {};
  for (let match = at.take(PARAM); match; match = at.take(PARAM)) {
    const [, name = '', quoted, bare = ''] = match;
    if (params.has(name.toLowerCase()) || params.size === MAX_PARAMS || !at.take(END_OF_PARAM)) return undefined;
    params.set(name.toLowerCase(), quoted?.replace(/\\(.)/g, '$1') ?? bare);
    at.take(SEPARATORS);
  }
  if (params.size === 0 && !at.take(END_OF_PARAM)) return undefined;
  return Object.fromEntries(params);
}

interface Cursor {
  /** Matches a sticky expression here and moves behind the match. */
  take(expression: RegExp): RegExpExecArray | null;
  isEnd(): boolean;
}

function cursor(text: string): Cursor {
  let position = 0;
  return {
    take(expression) {
      expression.lastIndex = position;
      const match = expression.exec(text);
      if (match) position += match[0].length;
      return match;
    },
    isEnd: () => position === text.length,
  };
}

/** The facts of a refusal that matter for a sign-in, from its OAuth challenges. */
export interface ChallengeFacts {
  /** The `error` of the challenge, such as `invalid_token` or `insufficient_scope`. */
  readonly error?: string;
  readonly scopes: readonly string[];
  /** The address of the protected-resource metadata, if it is a URL. */
  readonly metadataUrl?: string;
  /** True if the server accepts tokens that are bound to a key. */
  readonly isDpop: boolean;
}

const OAUTH_SCHEMES = new Set(['bearer', 'dpop']);

/** Reads the Bearer and DPoP challenges of a refusal. The first that has a parameter decides it. */
export function challengeFacts({ challenges }: Pick<Refusal, 'challenges'>): ChallengeFacts {
  const oauth = challenges.filter(({ scheme }) => OAUTH_SCHEMES.has(scheme));
  const first = (name: string) => oauth.find(({ params }) => params[name] !== undefined)?.params[name];
  const [error, metadataUrl] = [first('error'), first('resource_metadata')];
  return {
    ...(error !== undefined && { error }),
    scopes: scopesOf(first('scope')),
    ...(metadataUrl !== undefined && URL.canParse(metadataUrl) && { metadataUrl }),
    isDpop: oauth.some(({ scheme }) => scheme === 'dpop'),
  };
}

/** Tests whether a text is one scope: the grammar allows it, and it has at most 256 characters. */
export const isScope = (text: string): boolean => SCOPE_TOKEN.test(text) && text.length <= MAX_SCOPE_CHARS;

/** Returns the scopes of a `scope` parameter, each once. Others than the grammar allows are left out. */
function scopesOf(scope = ''): readonly string[] {
  const legal = scope.split(' ').filter(isScope);
  return [...new Set(legal)].slice(0, MAX_SCOPES);
}
