/** Custom metadata: ASCII values, and binary ones under names that end in `-bin`, which travel as base64. */
import type { HeaderFields, HeaderList } from '../exchange.ts';

/** Metadata of the caller, including the header fields of the protocols themselves. */
export class RequestMetadata {
  readonly #fields: HeaderFields;

  constructor(fields: HeaderFields) {
    this.#fields = fields;
  }

  get(name: string): string | undefined {
    return this.#fields.get(name);
  }

  getAll(name: string): readonly string[] {
    return this.#fields.getAll(name);
  }

  /** The values of a `-bin` name; invalid base64 is decoded up to the first bad character. */
  getBinary(name: string): readonly Uint8Array[] {
    const values: Uint8Array[] = [];
    for (const line of this.#fields.getAll(name)) {
      // Proxies may join repeated fields; a comma is not a base64 character.
      for (const value of line.split(',')) values.push(Buffer.from(value.trim(), 'base64'));
    }
    return values;
  }

  entries(): Iterable<readonly [name: string, value: string]> {
    return this.#fields.entries();
  }
}

const namePattern = /^[0-9a-z_.-]+$/;
const valuePattern = /^[\x20-\x7e]*$/;
const reserved = new Set([
  'access-control-allow-origin',
  'access-control-expose-headers',
  'connection',
  'content-encoding',
  'content-length',
  'content-type',
  'date',
  'host',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** Metadata to be sent. */
export class MetadataWriter {
  readonly fields: [name: string, value: string][] = [];

  /**
   * Adds a field; bytes under a `-bin` name are encoded here, a string under one is base64 already. Throws a TypeError
   * for a name or value that cannot be sent, and for names that belong to the protocols.
   */
  add(name: string, value: string | Uint8Array): void {
    const lowerName = name.toLowerCase();
    if (!namePattern.test(lowerName)) {
      throw new TypeError(`metadata name ${JSON.stringify(name)}: use only letters, digits, '_', '-' and '.'`);
    }
    if (reserved.has(lowerName) || lowerName.startsWith('grpc-') || lowerName.startsWith('connect-')) {
      throw new TypeError(`metadata name ${lowerName} is reserved by the protocol; choose another`);
    }
    if (typeof value !== 'string') {
      if (!lowerName.endsWith('-bin'))
        throw new TypeError(`metadata ${lowerName} has a binary value; use a name that ends in -bin`);
      this.fields.push([lowerName, unpaddedBase64From(value)]);
      return;
    }
    if (!valuePattern.test(value)) {
      throw new TypeError(`the value of ${lowerName} is not printable ASCII; send it under a name that ends in -bin`);
    }
    this.fields.push([lowerName, value.trim()]);
  }
}

export const noMetadata: HeaderList = [];

export function unpaddedBase64From(bytes: Uint8Array): string {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
  const end = text.indexOf('=');
  return end < 0 ? text : text.slice(0, end);
}
