import { BoundedMap } from '../core/bounded-map.ts';
import { ComputationFailure } from './exact/computation-failure.ts';

const MAX_AUTHORITY_CHARS = 300;
const MAX_PATTERNS = 1000;
const ANY_LABELS = '*.';
// Some programs look for `@` and the port up to the first slash, so `?` and `#` do not end it here.
const AUTHORITY = /^(?:https?|wss?|ftp):\/\/([^/]+)/i;
// URL parsers write every host that ends with a number in this form.
const IPV4 = /^\d{1,3}(?:\.\d{1,3}){3}$/;
const NAME = /^(?:[a-z0-9_-]+\.)*[a-z0-9_-]+$/;
// Old rules for names write these as other letters, new ones do not: straße.de is strasse.de for some programs.
const DEVIATING = /[\u00df\u1e9e\u03c2\u200c\u200d]/;
// An IPv4 address inside of an IPv6 address.
const EMBEDDING = /^\[(?:::(?!1?\])|64:ff9b:)/;

const failureOf = (reason: string) => Object.freeze(new ComputationFailure(`the URL of \`host.is\` ${reason}`));

// Made once each: `exists` and `all` ignore errors, so that one per item would be made, each with its stack.
const NO_TEXT = failureOf('is not a text');
const NO_URL = failureOf('is not a URL of http, https, ws, wss or ftp');
const CONTROL = failureOf('has a control character');
const BACKSLASH = failureOf('has a backslash in its host');
const USER = failureOf('has a user, or `@` before its path');
const PERCENT = failureOf('has a percent-encoded character in its host');
const INVALID = failureOf('has a host or port that is not valid');
const ADDRESS = failureOf('has an IP address in a form that is not usual');
const NO_PATTERN = Object.freeze(new ComputationFailure('the pattern of `host.is` is not a host'));

interface HostPattern {
  readonly host: string;
  /** True for `*.host`: any name below the host, and not the host itself. */
  readonly isBelow: boolean;
}

const patterns = new BoundedMap<string, HostPattern>(MAX_PATTERNS);

/**
 * Returns true if the host of a URL is the host of a pattern, or below it for `*.example.com`. Resolves no names. Throws
 * if some program may read the URL with another host: then neither true nor false is safe.
 */
export function isHost(url: unknown, pattern: string): boolean {
  const host = hostOf(url);
  const wanted = patterns.get(pattern) ?? readPattern(pattern);
  return wanted.isBelow ? host.endsWith(`.${wanted.host}`) : host === wanted.host;
}

/** Returns true if a text can be the pattern of `host.is`. */
export function isHostPattern(text: string): boolean {
  try {
    readPattern(text);
    return true;
  } catch {
    return false;
  }
}

function readPattern(text: string): HostPattern {
  const isBelow = text.startsWith(ANY_LABELS);
  const written = isBelow ? text.slice(ANY_LABELS.length) : text;
  if (/[/?#]/.test(written) || /:\d*$/.test(withoutBrackets(written))) throw NO_PATTERN;
  let host: string;
  try {
    host = hostOf(`https://${written}`);
  } catch {
    throw NO_PATTERN;
  }
  if (isBelow && (IPV4.test(host) || host.startsWith('['))) throw NO_PATTERN;
  const pattern = { host, isBelow };
  patterns.set(text, pattern);
  return pattern;
}

const withoutBrackets = (authority: string): string => authority.replace(/^\[[^\]]*\]/, '');

/** Returns the host of a URL as URL parsers write it, without a dot at its end. */
function hostOf(url: unknown): string {
  if (typeof url !== 'string') throw NO_TEXT;
  if (/\p{Cc}/u.test(url)) throw CONTROL;
  const wide = AUTHORITY.exec(url)?.[1];
  if (wide === undefined) throw NO_URL;
  if (wide.includes('\\')) throw BACKSLASH;
  if (wide.includes('@')) throw USER;
  const [authority = ''] = wide.split(/[?#]/, 1);
  if (authority.includes('%')) throw PERCENT;
  const start = `https://${authority}`;
  // URL parsers remove blanks at the end, other programs do not.
  if (authority.length > MAX_AUTHORITY_CHARS || /\s/.test(authority)) throw INVALID;
  if (DEVIATING.test(authority) || !URL.canParse(start)) throw INVALID;
  return normalHost(new URL(start).hostname, authority);
}

function normalHost(host: string, authority: string): string {
  if (host.startsWith('[')) {
    if (EMBEDDING.test(host)) throw ADDRESS;
    return host;
  }
  if (IPV4.test(host)) {
    // Some programs read 0177.0.0.1 as 177.0.0.1, and do not know 127.1.
    if (authority.replace(/:\d*$/, '') !== host) throw ADDRESS;
    return host;
  }
  const name = host.endsWith('.') ? host.slice(0, -1) : host;
  if (!NAME.test(name)) throw INVALID;
  return name;
}
