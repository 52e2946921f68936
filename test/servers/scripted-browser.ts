/** A page or redirect that the browser received. */
export interface Page {
  readonly url: string;
  readonly status: number;
  readonly headers: Headers;
  readonly body: string;
}

export interface ScriptedBrowser {
  /** Requests a URL and follows redirects; stops before a URL that begins with `stopBefore`, and returns the redirect. */
  open(url: string, stopBefore?: string): Promise<Page>;
  /** Submits the first form of a page, with its hidden fields and the given ones. */
  submit(page: Page, fields?: Readonly<Record<string, string>>, stopBefore?: string): Promise<Page>;
  /**
   * Opens an authorization URL, signs in as `user` where the authorization server asks, and follows redirects. Returns
   * the redirect to a URL that begins with `stopBefore`; without it the page at the end.
   */
  signIn(url: string, user: string, stopBefore?: string): Promise<Page>;
  /** The cookies of an origin. Tests may copy them to another browser. */
  cookies(origin: string): ReadonlyMap<string, string>;
  /** The attributes of every cookie received, as the server wrote them. */
  readonly setCookies: readonly string[];
  /** Sends cookies to another origin instead: a second replica behind the same name. */
  replace(origin: string, by: string): void;
}

const MAX_REDIRECTS = 20;
const MAX_SIGN_IN_PAGES = 4;

interface Sent {
  readonly method: 'GET' | 'POST';
  readonly url: string;
  readonly body?: URLSearchParams;
  readonly from?: string;
}

/** Creates a browser without scripts: fetch with a cookie jar. */
export function scriptedBrowser(): ScriptedBrowser {
  const jars = new Map<string, Map<string, string>>();
  const replaced = new Map<string, string>();
  const setCookies: string[] = [];
  const jarOf = (origin: string) => jars.get(origin) ?? jars.set(origin, new Map()).get(origin) ?? new Map();

  async function send({ method, url, body, from }: Sent): Promise<Page> {
    const { origin } = new URL(url);
    const jar = jarOf(origin);
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ');
    const headers = {
      ...(cookie && { cookie }),
      ...(method === 'POST' && { origin: from ? new URL(from).origin : origin }),
    };
    const address = `${replaced.get(origin) ?? origin}${url.slice(origin.length)}`;
    const response = await fetch(address, { method, headers, redirect: 'manual', body: body ?? null });
    for (const line of response.headers.getSetCookie()) {
      setCookies.push(line);
      storeCookie(jar, line);
    }
    return { url, status: response.status, headers: response.headers, body: await response.text() };
  }

  async function follow(first: Sent, stopBefore?: string): Promise<Page> {
    let page = await send(first);
    for (let count = 0; page.headers.has('location'); count++) {
      const url = new URL(page.headers.get('location') ?? '', page.url).href;
      if (stopBefore !== undefined && url.startsWith(stopBefore)) return { ...page, url };
      if (count === MAX_REDIRECTS) throw new Error(`More than ${MAX_REDIRECTS} redirects, the last to ${url}`);
      page = await send({ method: 'GET', url });
    }
    return page;
  }

  const browser: ScriptedBrowser = {
    setCookies,
    open: (url, stopBefore) => follow({ method: 'GET', url }, stopBefore),
    submit(page, fields = {}, stopBefore) {
      const form = formOf(page);
      const body = new URLSearchParams({ ...form.hidden, ...fields });
      return follow({ method: 'POST', url: form.action, body, from: page.url }, stopBefore);
    },
    async signIn(url, user, stopBefore) {
      let page = await browser.open(url, stopBefore);
      for (let count = 0; page.body.includes('name="login"'); count++) {
        if (count === MAX_SIGN_IN_PAGES) throw new Error(`The page ${page.url} asks again and again.`);
        page = await browser.submit(page, { login: user }, stopBefore);
      }
      return page;
    },
    cookies: jarOf,
    replace: (origin, by) => void replaced.set(origin, by),
  };
  return browser;
}

function storeCookie(jar: Map<string, string>, line: string): void {
  const [pair = '', ...attributes] = line.split(/;\s*/);
  const [name = '', value = ''] = pair.split(/=(.*)/s);
  const isGone = value === '' || attributes.some((one) => /^(max-age=0|expires=thu, 01 jan 1970)/i.test(one));
  if (isGone) jar.delete(name);
  else jar.set(name, value);
}

const unescapeHtml = (text: string) =>
  text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&quot;', '"').replaceAll('&amp;', '&');

function formOf({ body, url }: Page): { readonly action: string; readonly hidden: Record<string, string> } {
  const tag = /<form\b[^>]*>/.exec(body)?.[0];
  if (!tag) throw new Error(`The page ${url} has no form: ${body.slice(0, 500)}`);
  const action = /\baction="([^"]*)"/.exec(tag)?.[1] ?? '';
  const hidden: Record<string, string> = {};
  for (const [input] of body.matchAll(/<input\b[^>]*type="hidden"[^>]*>/g)) {
    const name = /\bname="([^"]*)"/.exec(input)?.[1];
    if (name) hidden[name] = unescapeHtml(/\bvalue="([^"]*)"/.exec(input)?.[1] ?? '');
  }
  return { action: new URL(unescapeHtml(action), url).href, hidden };
}
