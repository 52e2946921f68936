/** The content of a page that the loopback listener shows. */
export interface CallbackPage {
  readonly title: string;
  readonly text: string;
}

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

const escaped = (text: string): string => text.replace(/[&<>"']/g, (character) => ESCAPES[character] ?? '');

/** Returns a page without scripts, styles or links. */
export const callbackPage = ({ title, text }: CallbackPage): string =>
  `<!doctype html><html lang="en"><meta charset="utf-8"><title>${escaped(title)}</title><h1>${escaped(title)}</h1><p>${escaped(text)}</p></html>\n`;
