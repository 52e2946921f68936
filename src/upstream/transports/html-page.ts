import { quoted } from './bad-message.ts';

const MAX_TITLE_CHARS = 80;
const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" };

/** Describes an HTML page by its title, such as `an HTML page (title “Sign in”)`; undefined for any other text. */
export function describeHtml(text: string, contentType: string | string[] | undefined): string | undefined {
  const isHtml = /^text\/html\b/i.test(String(contentType))
    ? /<[a-z!]/i.test(text)
    : /^\s*<(?:!doctype html|html)\b/i.test(text);
  if (!isHtml) return undefined;
  const [, written = ''] = /<title[^>]{0,200}>([^<]{0,500})/i.exec(text) ?? [];
  const title = quoted(written.replace(/&(amp|lt|gt|quot|#39);/g, (_, name) => ENTITIES[name] ?? ''));
  return title === '' ? 'an HTML page' : `an HTML page (title “${title.slice(0, MAX_TITLE_CHARS)}”)`;
}
