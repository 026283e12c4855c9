/** Values that count and show whether they are whole. */
export const counterKeys = ['counter/small', 'counter/page', 'counter/large', 'other/one'];

const fillerBytes: Readonly<Record<string, number>> = { 'counter/page': 5000, 'counter/large': 40_000 };

export function counterValue(key: string, count: number): Uint8Array {
  const head = Buffer.from(`${count};`);
  return Buffer.concat([head, Buffer.alloc(fillerBytes[key] ?? 10, count % 251)]);
}

export function counterFrom(value: Uint8Array): number {
  return Number.parseInt(Buffer.from(value.subarray(0, 20)).toString('latin1'), 10);
}
