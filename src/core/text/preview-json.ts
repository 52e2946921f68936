import type { Json } from '../call.ts';
import { isRawNumber } from '../exact-numbers.ts';

/** Returns the first `max` characters of a value as JSON, and `…` if it has more. Reads only as much of the value. */
export function previewJson(value: Json, max: number): string {
  let text = '';
  const isFull = () => text.length > max;

  function write(one: Json): void {
    if (typeof one === 'string') text += JSON.stringify(one.slice(0, max + 1));
    else if (typeof one !== 'object' || one === null || isRawNumber(one)) text += JSON.stringify(one) ?? 'null';
    else if (Array.isArray(one)) writeItems(one);
    else writeProperties(one as Readonly<Record<string, Json | undefined>>);
  }

  function writeItems(items: readonly Json[]): void {
    text += '[';
    for (let at = 0; at < items.length && !isFull(); at++) {
      if (at > 0) text += ',';
      write(items[at] ?? null);
    }
    text += ']';
  }

  function writeProperties(object: Readonly<Record<string, Json | undefined>>): void {
    let before = '{';
    for (const key in object) {
      if (isFull()) break;
      const one = object[key];
      if (one === undefined) continue;
      text += `${before}${JSON.stringify(key.slice(0, max + 1))}:`;
      before = ',';
      write(one);
    }
    text += before === '{' ? '{}' : '}';
  }

  write(value);
  return isFull() ? `${text.slice(0, max)}…` : text;
}
