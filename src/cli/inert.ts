/** Text from a tool as a terminal may show it: control and bidi characters are spelt out, nothing acts on the screen. */
export function inert(text: string): string {
  return text.replace(ACTIVE, (character) => {
    const code = (character.codePointAt(0) ?? 0).toString(16).padStart(4, '0');
    return `\\u{${code}}`;
  });
}

// C0 and C1 but tab and newline, bidi controls, zero-width and tag characters.
const ACTIVE = /[^\P{Cc}\t\n]|[\u200B\u200E\u200F\u202A-\u202E\u2060-\u2069\uFEFF]|[\u{E0000}-\u{E007F}]/gu;
