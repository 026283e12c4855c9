/** The internal entry point: for this repository's tests, fuzzers and benches. Nothing here is stable API. */
export { HpackDecoder } from './hpack/decoder.ts';
export { HpackEncoder } from './hpack/encoder.ts';
export { Http1Connection } from './http1/connection.ts';
export { Http2Connection } from './http2/connection.ts';
export * from './http2/frames.ts';
export { type Flood, floods } from './http2/testing/floods.ts';
export * from './http2/testing/frame-tools.ts';
export { HeaderField } from './wire/header-field.ts';
export { MemoryHost } from './wire/testing/memory-host.ts';
export { MemoryTransport } from './wire/testing/memory-transport.ts';
export type { Connection } from './wire/transport.ts';
