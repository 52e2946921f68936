import { openConversation } from '../input/ask.ts';

/**
 * Shows text that the user has to judge, on stderr. Text longer than the screen is shown screen by screen,
 * so that no part of it scrolls away unseen. Returns false if the user stops before the end. When the signal aborts, it
 * throws and releases the terminal.
 */
export async function showWhole(text: string, signal?: AbortSignal): Promise<boolean> {
  const lines = text.split('\n');
  const rows = Math.max((process.stderr.rows || 24) - 3, 5);
  if (lines.length <= rows) {
    process.stderr.write(`${text}\n`);
    return true;
  }
  process.stderr.write(
    `It has ${lines.length} lines, more than this screen shows. Read all of them before you decide.\n`,
  );
  const conversation = openConversation();
  signal?.addEventListener('abort', conversation.close, { once: true });
  try {
    for (let at = 0; at < lines.length; at += rows) {
      process.stderr.write(`${lines.slice(at, at + rows).join('\n')}\n`);
      if (at + rows >= lines.length) return true;
      const shown = `${at + rows} of ${lines.length} lines shown. Enter shows more, q stops:`;
      if (/^q/i.test((await conversation.ask(shown)).trim())) return false;
    }
    return true;
  } finally {
    signal?.removeEventListener('abort', conversation.close);
    conversation.close();
  }
}
