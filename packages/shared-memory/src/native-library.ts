/** Functions of a library in C that is not the C library itself, called without a binding of its own for Node. */
import { createRequire } from 'node:module';

/**
 * Takes numbers, texts, addresses and views of memory (for pointers). A pointer that is returned is an address, null for 0.
 * A library that keeps the address of a view needs the view to be kept for as long.
 */
// biome-ignore lint/suspicious/noExplicitAny: what a function takes and returns is known from its signature in C only.
export type NativeFunction = (...values: any[]) => any;

export interface NativeLibrary {
  /** A function that the library exports. */
  exported(signature: string): NativeFunction;
  /** A function by its address. */
  at(address: bigint, signature: string): NativeFunction;
  /** Addresses that lie behind each other in memory. */
  readAddresses(address: bigint, count: number): readonly bigint[];
  /** A text that ends with a zero byte. */
  readText(address: bigint): string;
  /** Copies as many bytes as the target has. */
  copyFrom(address: bigint, target: Uint8Array): void;
  /** Where the memory of a view lies. The view must be kept for as long as the address is used, and its memory must not be transferred. */
  addressOf(bytes: Uint8Array): bigint;
}

/** Throws where the library, or a way to call it, is missing. */
export function openNativeLibrary(path: string): NativeLibrary {
  const koffi = createRequire(import.meta.url)('koffi') as typeof import('koffi');
  const library = koffi.load(path);
  const memcpy = koffi.load(null).func('void *memcpy(void *target, void *source, size_t bytes)');
  return {
    exported: (signature) => library.func(signature) as NativeFunction,
    at(address, signature) {
      const type = koffi.proto(signature);
      return (...values) => koffi.call(address, type, ...values);
    },
    readAddresses: (address, count) => koffi.decode(address, koffi.array('void *', count)) as bigint[],
    readText: (address) => koffi.decode(address, 'char', -1) as string,
    copyFrom: (address, target) => void memcpy(target, address, target.length),
    addressOf: (bytes) => koffi.address(bytes),
  };
}
