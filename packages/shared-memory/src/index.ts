export * from './arena.ts';
export { confineChild, refuseNewPrivileges, setNativeEnvironment } from './confine-process.ts';
export { DirectSocket, receiveBytesMax, takeDirectSocket } from './direct-socket.ts';
export { type FileLock, type LockOutcome, takeFileLock } from './file-lock.ts';
export { blockAlignmentBytes } from './free-list.ts';
export { heapBytes } from './heap-bytes.ts';
export { inFrameBytesMax } from './in-frame.ts';
export { type Mapping, takeInheritedMapping, takeNewMapping } from './mapping.ts';
export { idleMappingsMax, MappingPool } from './mapping-pool.ts';
