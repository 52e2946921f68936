import { createHash } from 'node:crypto';
import type { OutgoingHttpHeaders } from 'node:http';
import { escapeControlCharacters } from '../../core/text/visible-text.ts';
import type { HttpResponse } from '../response-writer.ts';

/** The content of a page. Every text is escaped and shortened. */
export interface PageContent {
  readonly title: string;
  readonly text: readonly string[];
  /** Rows of a table: label and value. */
  readonly rows?: readonly (readonly [string, string])[];
  readonly form?: PageForm;
}

export interface PageForm {
  /** The label of a field for a credential; no field if absent. */
  readonly credential?: string;
  readonly button: string;
}

export interface PageResponse extends PageContent {
  readonly status: number;
  readonly headers?: OutgoingHttpHeaders;
}

const MAX_CHARS = 1000;
const STYLE = `body{font:16px/1.5 system-ui,sans-serif;max-width:40rem;margin:3rem auto;padding:0 1rem}
th{text-align:left;padding-right:1rem;vertical-align:top}td{overflow-wrap:anywhere}input,button{font:inherit;padding:.3rem .6rem}`;
const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64');

/**
 * The headers of every page: no scripts, no frames, no copies, and no referrer for other origins. With `no-referrer`
 * browsers would send forms with the origin `null`. `form-action` is left out: it would forbid
 * the redirect to an authorization server.
 */
const HEADERS: OutgoingHttpHeaders = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': `default-src 'none'; style-src 'sha256-${STYLE_HASH}'; base-uri 'none'; frame-ancestors 'none'`,
  'x-frame-options': 'DENY',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'same-origin',
  'cache-control': 'no-store',
};

export function sendPage(response: HttpResponse, { status, headers, ...content }: PageResponse): void {
  const html = renderPage(content);
  response.writeHead(status, { ...HEADERS, ...headers, 'content-length': Buffer.byteLength(html) }).end(html);
}

/** Sends the browser to another address, which it requests with GET. */
export function sendRedirect(response: HttpResponse, location: string, headers: OutgoingHttpHeaders = {}): void {
  const { 'content-type': _, ...rest } = HEADERS;
  response.writeHead(303, { ...rest, ...headers, location, 'content-length': 0 }).end();
}

function renderPage({ title, text, rows = [], form }: PageContent): string {
  const table = rows.map(([label, value]) => `<tr><th>${escapeHtml(label)}</th><td>${escapeHtml(value)}</td></tr>`);
  return [
    `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="robots" content="noindex">`,
    `<title>${escapeHtml(title)}</title><style>${STYLE}</style></head><body><h1>${escapeHtml(title)}</h1>`,
    ...(table.length > 0 ? [`<table>${table.join('')}</table>`] : []),
    ...text.map((one) => `<p>${escapeHtml(one)}</p>`),
    form ? renderForm(form) : '',
    '</body></html>\n',
  ].join('\n');
}

// Without `action` the form is sent to the address of the page, also behind a proxy that adds a path.
function renderForm({ credential, button }: PageForm): string {
  const field =
    credential === undefined
      ? ''
      : `<p><label>${escapeHtml(credential)} <input type="password" name="credential" autocomplete="off" required></label></p>`;
  return `<form method="post">${field}<button type="submit">${escapeHtml(button)}</button></form>`;
}

const ENTITIES: Readonly<Record<string, string>> = {
  ...{ '&': '&amp;', '<': '&lt;', '>': '&gt;' },
  ...{ '"': '&quot;', "'": '&#39;' },
};

function escapeHtml(text: string): string {
  const short = text.length > MAX_CHARS ? `${text.slice(0, MAX_CHARS)}…` : text;
  return escapeControlCharacters(short).replace(/[&<>"']/g, (character) => ENTITIES[character] ?? '');
}
