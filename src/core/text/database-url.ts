/** The address and the credentials in the URL of a database server. */
export interface DatabaseUrl {
  /** A name, an IP address, or the folder of a Unix socket. */
  readonly host: string;
  readonly port?: number;
  readonly database?: string;
  readonly username?: string;
  readonly password?: string;
  /** True and false if the URL says so. */
  readonly ssl?: boolean;
}

/** The URL, or the end of a sentence that says why it cannot be used. */
export type DatabaseUrlResult = { readonly address: DatabaseUrl } | { readonly problem: string };

const HOST = /^(?:\/[\w./-]{1,100}|[\w.:-]{1,255})$/;
const CONTROL = /\p{Cc}/u;

const SSL_VALUES: Readonly<Record<string, ReadonlyMap<string, boolean>>> = {
  ssl: new Map([
    ['true', true],
    ['false', false],
  ]),
  sslmode: new Map([
    ['disable', false],
    ['require', true],
    ['verify-ca', true],
    ['verify-full', true],
  ]),
};

/** The schemes of URLs, by the type of the database. */
export const DATABASE_SCHEMES = { postgres: /^postgres(?:ql)?:\/\//, mysql: /^(?:mysql|mariadb):\/\// } as const;

/** Tests a host: a name, an IP address, or the folder of a Unix socket. */
export const isDatabaseHost = (host: string): boolean => HOST.test(host);

/**
 * Reads the URL of a database server. Drivers take hosts, files and dangerous options from parameters of a URL, so they
 * never get one, and other parameters than those for TLS are refused.
 */
export function readDatabaseUrl(text: string): DatabaseUrlResult {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url) return { problem: 'is not a URL of the form type://user:password@host:port/database' };
  const parts = [url.hostname.replace(/^\[(.*)\]$/, '$1'), url.username, url.password, url.pathname.slice(1)];
  const [host = '', username, password, database] = parts.map(decode);
  if (parts.some((part) => decode(part) === undefined)) return { problem: 'has a `%` that must be written `%25`' };
  if (host === '') return { problem: 'names no host' };
  if (!isDatabaseHost(host)) return { problem: 'has a host with characters that no host has' };
  if ([username, password, database].some((part) => CONTROL.test(part ?? ''))) {
    return { problem: 'contains control characters' };
  }
  const ssl = readSsl(url.searchParams);
  if ('problem' in ssl) return ssl;
  const named = Object.entries({ username, password, database }).filter(([, part]) => part !== '');
  return {
    address: { host, ...(url.port !== '' && { port: Number(url.port) }), ...Object.fromEntries(named), ...ssl },
  };
}

function readSsl(parameters: URLSearchParams): { readonly ssl?: boolean } | { readonly problem: string } {
  const found = new Set<boolean>();
  for (const [name, value] of parameters) {
    const values = Object.hasOwn(SSL_VALUES, name) ? SSL_VALUES[name] : undefined;
    // The name is not shown: it may be a part of a password that was not encoded.
    if (!values) return { problem: 'has other parameters than sslmode and ssl; leave them out' };
    const ssl = values.get(value);
    if (ssl === undefined) return { problem: `has another ${name} than ${[...values.keys()].join(', ')}` };
    found.add(ssl);
  }
  const [first] = found;
  if (found.size > 1) return { problem: 'asks for TLS and for none' };
  return first === undefined ? {} : { ssl: first };
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
