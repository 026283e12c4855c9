/** The internal entry point: for this repository's tests, fuzzers and benches. Nothing here is stable API. */
export { HeaderField } from '@millrace/http2';
export { Http1Connection } from './http1/connection.ts';
export { Http2Connection } from './http2/connection.ts';
export { type Flood, floods } from './http2/testing/floods.ts';
export { takeDirectWrites } from './wire/direct-write.ts';
export { MemoryHost } from './wire/testing/memory-host.ts';
export { MemoryTransport } from './wire/testing/memory-transport.ts';
export type { Connection } from './wire/transport.ts';
