/** Checks of the arguments of a store, the same for every implementation. */
import { keyBytesMax, leaseMsMax, leaseMsMin, valueBytesMax } from './metadata.ts';
import { StoreError } from './store-error.ts';

export function checkKey(key: string): void {
  const problem = key === '' ? 'is empty' : textProblem(key);
  if (problem !== undefined) throw new StoreError('key-invalid', `the key ${shown(key)} ${problem}`);
  if (key.split('/').includes('')) {
    throw new StoreError('key-invalid', `the key ${shown(key)} has an empty part; parts are joined by single slashes`);
  }
}

export function checkPrefix(prefix: string): void {
  if (prefix === '') return;
  const problem = prefix.endsWith('/')
    ? textProblem(prefix)
    : 'does not end in a slash; a prefix consists of whole parts';
  if (problem !== undefined) throw new StoreError('key-invalid', `the prefix ${shown(prefix)} ${problem}`);
  if (prefix.slice(0, -1).split('/').includes('')) {
    throw new StoreError('key-invalid', `the prefix ${shown(prefix)} has an empty part`);
  }
}

export function checkValue(key: string, value: Uint8Array): void {
  if (value.byteLength <= valueBytesMax) return;
  const size = `the value of ${shown(key)} has ${value.byteLength} bytes`;
  throw new StoreError('value-too-large', `${size}; the maximum is ${valueBytesMax}`);
}

export function checkLeaseLife(lifeMs: number): void {
  if (Number.isInteger(lifeMs) && lifeMs >= leaseMsMin && lifeMs <= leaseMsMax) return;
  const range = `whole milliseconds from ${leaseMsMin} to ${leaseMsMax}`;
  throw new StoreError('lease-invalid', `a lease cannot have ${lifeMs} ms; it must have ${range}`);
}

export function checkLogNames(stream: string, owner: string, tag: string, account: string): void {
  for (const [what, text] of [
    ['id of a stream', stream],
    ['name of an owner', owner],
  ] as const) {
    const problem = text === '' ? 'is empty' : textProblem(text);
    if (problem !== undefined) throw new StoreError('key-invalid', `the ${what} ${shown(text)} ${problem}`);
  }
  for (const [what, text] of [
    ['tag', tag],
    ['account', account],
  ] as const) {
    const problem = textProblem(text);
    if (problem !== undefined) throw new StoreError('key-invalid', `the ${what} ${shown(text)} ${problem}`);
  }
}

function textProblem(text: string): string | undefined {
  const bytes = Buffer.byteLength(text);
  if (bytes > keyBytesMax) return `has ${bytes} bytes; the maximum is ${keyBytesMax}`;
  // A lone surrogate has no UTF-8 bytes of its own: two different keys would become one.
  if (Buffer.from(text).toString() !== text) return 'is not well-formed Unicode text';
  return text.includes('\0') ? 'contains a NUL character' : undefined;
}

function shown(text: string): string {
  return JSON.stringify(text.length > 64 ? `${text.slice(0, 64)}…` : text);
}
