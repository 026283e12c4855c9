/// <reference types="node" />
/**
 * `slice` of a Buffer is a view of the same memory, of every other Uint8Array a copy, and a variable of type Uint8Array
 * may hold either. So its result cannot be used in this repository: `copyOf` always copies, `subarray` never does.
 */
export {};

declare global {
  interface Uint8Array<TArrayBuffer extends ArrayBufferLike> {
    slice(start?: number, end?: number): unknown;
  }
  interface Buffer<TArrayBuffer extends ArrayBufferLike> {
    slice(start?: number, end?: number): unknown;
  }
}
