// For each Latin letter its look-alikes: Cyrillic, Greek, Armenian and rare Latin. Compatibility characters (full width,
// mathematical, superscript) are not here, since NFKD maps them.
const LOOKS_LIKE: Readonly<Record<string, string>> = {
  a: 'аαɑ',
  b: 'вβʙ',
  c: 'сϲ',
  d: 'ԁđ',
  e: 'еєεɛ',
  f: 'ƒ',
  g: 'ɡց',
  h: 'һнհ',
  i: 'іιıɩӏ',
  j: 'јϳ',
  k: 'кκ',
  l: 'łǀⵏ',
  m: 'мʍ',
  n: 'ηпոռ',
  o: 'оοσօøө',
  p: 'рρ',
  q: 'ԛգ',
  r: 'гʀ',
  s: 'ѕςꜱ',
  t: 'тτ',
  u: 'υսʋц',
  v: 'νѵ',
  w: 'ωшѡԝա',
  x: 'хχ×',
  y: 'уγү',
  z: 'ζᴢ',
  A: 'АΑ',
  B: 'ВΒ',
  C: 'СϹ',
  D: 'Đ',
  E: 'ЕΕ',
  F: 'Ϝ',
  G: 'Ԍ',
  H: 'НΗ',
  I: 'ІΙӀ',
  J: 'ЈͿ',
  K: 'КΚ',
  L: 'Ł',
  M: 'МΜ',
  N: 'Ν',
  O: 'ОΟՕØ',
  P: 'РΡ',
  S: 'ЅՏ',
  T: 'ТΤ',
  U: 'Ս',
  V: 'Ѵ',
  W: 'Ԝ',
  X: 'ХΧ',
  Y: 'УΥҮ',
  Z: 'Ζ',
  '3': 'зЗ',
};
const LATIN = new Map(Object.entries(LOOKS_LIKE).flatMap(([latin, others]) => [...others].map((one) => [one, latin])));

// Bounds the time, since a server may send names of any length.
const MAX_CHARS = 256;
const IS_PLAIN = /^[\x20-\x7e]*$/;
// Accents and invisible characters: zero-width and control characters, variation selectors, tags.
const UNSEEN = /[\p{M}\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}]/gu;

/** Returns the skeleton of a name. Names with the same skeleton look alike. */
export function skeleton(name: string): string {
  // Twice: the lower-case form of a letter may be in the table while the upper-case one is not.
  return inLatin(inLatin(name.slice(0, MAX_CHARS)).toLowerCase())
    .replace(/[il1|!]/g, 'l')
    .replaceAll('0', 'o')
    .replaceAll('rn', 'm')
    .replaceAll('vv', 'w')
    .replace(/[\s._\p{Pd}/:]+/gu, '_');
}

function inLatin(name: string): string {
  if (IS_PLAIN.test(name)) return name;
  const seen = name.normalize('NFKD').replace(UNSEEN, '');
  return Array.from(seen, (character) => LATIN.get(character) ?? character).join('');
}

/** Returns true if a name has control or invisible characters, so that a user cannot type it. */
export const isUnprintable = (name: string): boolean => /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u.test(name);
