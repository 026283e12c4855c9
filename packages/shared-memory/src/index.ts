export * from './arena.ts';
export { DirectSocket, receiveBytesMax, takeDirectSocket } from './direct-socket.ts';
export { endWithParent } from './end-with-parent.ts';
export { blockAlignmentBytes } from './free-list.ts';
export { heapBytes } from './heap-bytes.ts';
export { inFrameBytesMax } from './in-frame.ts';
export { type Mapping, takeInheritedMapping, takeNewMapping } from './mapping.ts';
export { idleMappingsMax, MappingPool } from './mapping-pool.ts';
