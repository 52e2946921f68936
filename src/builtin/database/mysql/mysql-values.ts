import type { FieldPacket } from 'mysql2';
import type { Json } from '../../../core/call.ts';
import type { Column } from '../database.ts';
import { exactJson, exactNumber } from '../exact-values.ts';

const BINARY_CHARSET = 63;
const UNSIGNED = 32;
const ENUM = 256;
const SET = 2048;
/** The count of decimals of an expression without a fixed one. */
const NOT_FIXED = 31;

const TYPES: Readonly<Record<number, string>> = {
  0: 'decimal',
  1: 'tinyint',
  2: 'smallint',
  3: 'int',
  4: 'float',
  5: 'double',
  6: 'null',
  7: 'timestamp',
  8: 'bigint',
  9: 'mediumint',
  10: 'date',
  11: 'time',
  12: 'datetime',
  13: 'year',
  14: 'date',
  16: 'bit',
  242: 'vector',
  245: 'json',
  246: 'decimal',
  247: 'enum',
  248: 'set',
  255: 'geometry',
};
const SIGNED_NUMBERS = new Set(['decimal', 'tinyint', 'smallint', 'int', 'mediumint', 'bigint', 'float', 'double']);
/** The prefixes of blob and text by the bytes that they hold; four bytes per character for text. */
const BLOB_PREFIXES: readonly (readonly [number, string])[] = [
  [255, 'tiny'],
  [65_535, ''],
  [16_777_215, 'medium'],
];
const BLOB_TYPES: Readonly<Record<number, string>> = { 249: 'tiny', 250: 'medium', 251: 'long' };

/** Returns the name and the native type of a column of a result. */
export function mysqlColumn(field: FieldPacket): Column {
  return { name: field.name, type: nativeType(field) };
}

function nativeType(field: FieldPacket): string {
  const type = field.columnType ?? -1;
  const flags = Number(field.flags);
  if (field.extendedFormat === 'json') return 'json';
  if (field.extendedTypeName !== undefined) return field.extendedTypeName;
  if (flags & ENUM) return 'enum';
  if (flags & SET) return 'set';
  const known = TYPES[type];
  if (known === undefined) return textType(field);
  return flags & UNSIGNED && SIGNED_NUMBERS.has(known) ? `${known} unsigned` : known;
}

function textType({ columnType = -1, characterSet, columnLength = 0 }: FieldPacket): string {
  const isBinary = characterSet === BINARY_CHARSET;
  if (columnType === 254) return isBinary ? 'binary' : 'char';
  if (columnType === 15 || columnType === 253) return isBinary ? 'varbinary' : 'varchar';
  return blobType(columnType, columnLength, isBinary);
}

function blobType(type: number, length: number, isBinary: boolean): string {
  const bytes = isBinary ? length : length / 4;
  const prefix = BLOB_TYPES[type] ?? BLOB_PREFIXES.find(([most]) => bytes <= most)?.[1] ?? 'long';
  return `${prefix}${isBinary ? 'blob' : 'text'}`;
}

type Decode = (value: unknown) => Json;

/** Returns the decoder of a column: numbers that JSON cannot hold stay text, bytes become base64. */
export function mysqlDecoder(field: FieldPacket): Decode {
  const decode = decoderOf(nativeType(field), field);
  return (value) => (value === null || value === undefined ? null : decode(value));
}

function decoderOf(type: string, field: FieldPacket): Decode {
  if (type === 'json') return (value) => exactJson(String(value));
  if (type === 'float' || type === 'float unsigned') return (value) => shortestFloat(Number(value));
  if (type === 'bit') return bitNumber;
  if (/^(?:bigint|decimal)/.test(type)) return (value) => exactNumber(String(value));
  if (/^(?:time|datetime|timestamp)$/.test(type)) return (value) => withFraction(String(value), field.decimals);
  return plain;
}

const plain: Decode = (value) => {
  if (Buffer.isBuffer(value)) return value.toString('base64');
  return typeof value === 'number' ? value : String(value);
};

const bitNumber: Decode = (value) =>
  Buffer.isBuffer(value) ? exactNumber(BigInt(`0x${value.toString('hex') || '0'}`).toString()) : plain(value);

/** Returns the number with the fewest digits that is the same 32-bit float. */
function shortestFloat(value: number): number {
  for (let digits = 6; digits < 9; digits++) {
    const shorter = Number(value.toPrecision(digits));
    if (Math.fround(shorter) === Math.fround(value)) return shorter;
  }
  return value;
}

/** Adds the zeros of a fraction that the driver leaves out and the server prints. */
function withFraction(text: string, decimals: number): string {
  if (decimals === 0 || decimals >= NOT_FIXED) return text;
  const [whole = '', fraction = ''] = text.split('.');
  return `${whole}.${fraction.padEnd(decimals, '0').slice(0, decimals)}`;
}
