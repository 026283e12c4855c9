/** The calls of the C library that this package uses; the only file that imports koffi. */
import { createRequire } from 'node:module';

export interface SystemCalls {
  /** A file descriptor of anonymous memory, or throws. */
  createMemory(bytes: number): number;
  /** The address of a shared, writable mapping, or throws. */
  map(descriptor: number, bytes: number): bigint;
  view(address: bigint, bytes: number): ArrayBuffer;
  /** Of the memory that `map` returns. */
  readonly pageBytes: number;
  /** Returns whole pages to the system; reads return zero afterwards. False: it takes none, and they are as they were. */
  discard(address: bigint, bytes: number): boolean;
  unmap(address: bigint, bytes: number): void;
  /** The number of bytes received, 0 at the end of the stream, undefined when there are none now. */
  receive(descriptor: number, into: Uint8Array): number | undefined;
  /** Has the calls of this socket wait, `receiveWaiting` at most this long. */
  makeWaiting(descriptor: number, milliseconds: number): void;
  /** As `receive`, but waits for something to receive. */
  receiveWaiting(descriptor: number, into: Uint8Array): number | undefined;
  /** The address of memory that the garbage collector does not move. */
  addressOf(bytes: Uint8Array): bigint;
  /**
   * Reads into the pieces of an array of `struct iovec`. The number of bytes, 0 when there are none now; of the end or a failure
   * of a socket only its next reader learns.
   */
  readVector(descriptor: number, vector: Uint32Array, pieces: number): number;
  /** Waits until all is written. */
  send(descriptor: number, bytes: Uint8Array): void;
  /** Has the kernel kill this process when the thread that started it ends. */
  endWithParent(): void;
  /** Sets no_new_privs for this thread and what it starts. */
  refuseNewPrivileges(): void;
  /** An exclusive lock on the open file, without waiting; false when another holds it. */
  lock(descriptor: number): boolean;
  setEnvironment(name: string, value: string): void;
  /** Returns free memory of the C library's allocator to the system, or throws: only GNU's can. */
  trimAllocator(): void;
  /** Lets other threads run on the core of this one first. Not zero: the system does not allow it. */
  yieldCore(): number;
  /** Another descriptor of the same open file, closed on exec, or throws. */
  duplicate(descriptor: number): number;
  /** The user of the process at the other end of a connected Unix socket. */
  peerUser(descriptor: number): number;
}

const closeOnExec = 1;
const allowSealing = 2;
const addSeals = 1033;
const sealSeals = 1;
const sealShrink = 2;
const sealGrow = 4;
const readAndWrite = 3;
const isShared = 1;
const removePages = 9;
const setParentDeathSignal = 1;
const setNoNewPrivileges = 38;
const signalKill = 9;
const lockExclusive = 2;
const lockWithoutWaiting = 4;
const socketLevel = 1;
const peerCredentials = 17;
const receiveTimeout = 20;
const getStatusFlags = 3;
const duplicateClosedOnExec = 1030;
const setStatusFlags = 4;
const isNonBlocking = 0x800;
const doNotWait = 0x40;
const noSignal = 0x4000;
const isWritable = 4;
const errorInterrupted = 4;
const errorTryAgain = 11;
const mapFailed = 0xffff_ffff_ffff_ffffn;

let loaded: SystemCalls | undefined;

/** Throws where the calls are not available: another platform, or a machine that koffi has no binary for. */
export function systemCalls(): SystemCalls {
  loaded ??= loadSystemCalls();
  return loaded;
}

function loadSystemCalls(): SystemCalls {
  if (process.platform !== 'linux') throw new Error(`memfd_create needs Linux, and this is ${process.platform}`);
  const koffi = createRequire(import.meta.url)('koffi') as typeof import('koffi');
  const library = koffi.load(null);
  const memfdCreate = library.func('int memfd_create(const char *name, unsigned int flags)');
  const ftruncate = library.func('int ftruncate(int descriptor, int64_t bytes)');
  const fcntl = library.func('int fcntl(int descriptor, int command, ...)');
  const mmap = library.func(
    'void *mmap(void *at, size_t bytes, int protection, int flags, int descriptor, int64_t offset)',
  );
  const getpagesize = library.func('int getpagesize()');
  const madvise = library.func('int madvise(void *at, size_t bytes, int advice)');
  const munmap = library.func('int munmap(void *at, size_t bytes)');
  const recv = library.func('int64_t recv(int descriptor, void *into, size_t bytes, int flags)');
  const send = library.func('int64_t send(int descriptor, const void *from, size_t bytes, int flags)');
  const readv = library.func('int64_t readv(int descriptor, void *vector, int pieces)');
  const poll = library.func('int poll(void *descriptors, unsigned long count, int milliseconds)');
  const prctl = library.func('int prctl(int option, ...)');
  const flock = library.func('int flock(int descriptor, int operation)');
  const getsockopt = library.func(
    'int getsockopt(int descriptor, int level, int option, _Out_ int *value, _Inout_ unsigned int *bytes)',
  );
  const setsockopt = library.func(
    'int setsockopt(int descriptor, int level, int option, const void *value, unsigned int bytes)',
  );
  const schedYield = library.func('int sched_yield()');
  const setenv = library.func('int setenv(const char *name, const char *value, int replaces)');
  // Looked up when it is called: only GNU's library has it.
  let mallocTrim: ((keptBytes: number) => number) | undefined;
  const must = (result: number, call: string): number => {
    if (result < 0) throw new Error(`${call} failed with errno ${koffi.errno()}`);
    return result;
  };
  const received = (descriptor: number, into: Uint8Array, flags: number): number | undefined => {
    const count = Number(recv(descriptor, into, into.length, flags));
    if (count >= 0) return count;
    const error = koffi.errno();
    // A signal ends the wait too.
    if (error === errorTryAgain || error === errorInterrupted) return undefined;
    throw new Error(`recv failed with errno ${error}`);
  };
  return {
    createMemory(bytes) {
      const descriptor = must(memfdCreate('millrace', closeOnExec | allowSealing), 'memfd_create');
      must(ftruncate(descriptor, bytes), `ftruncate to ${bytes} bytes`);
      // The other process holds the descriptor too: if it could shrink the memory, our next read would be a SIGBUS.
      must(fcntl(descriptor, addSeals, 'int', sealSeals | sealShrink | sealGrow), 'fcntl(F_ADD_SEALS)');
      return descriptor;
    },
    map(descriptor, bytes) {
      const address = BigInt(mmap(null, bytes, readAndWrite, isShared, descriptor, 0));
      if (address === mapFailed) throw new Error(`mmap of ${bytes} bytes failed with errno ${koffi.errno()}`);
      return address;
    },
    view: (address, bytes) => koffi.view(address, bytes),
    pageBytes: getpagesize(),
    discard: (address, bytes) => madvise(address, bytes, removePages) === 0,
    unmap: (address, bytes) => void must(munmap(address, bytes), 'munmap'),
    receive: (descriptor, into) => received(descriptor, into, doNotWait),
    makeWaiting(descriptor, milliseconds) {
      const flags = must(fcntl(descriptor, getStatusFlags, 'int', 0), 'fcntl(F_GETFL)');
      must(fcntl(descriptor, setStatusFlags, 'int', flags & ~isNonBlocking), 'fcntl(F_SETFL)');
      // A struct timeval: seconds and microseconds.
      const limit = BigInt64Array.of(BigInt(Math.floor(milliseconds / 1000)), BigInt(milliseconds % 1000) * 1000n);
      must(setsockopt(descriptor, socketLevel, receiveTimeout, limit, limit.byteLength), 'setsockopt(SO_RCVTIMEO)');
    },
    receiveWaiting: (descriptor, into) => received(descriptor, into, 0),
    addressOf: (bytes) => koffi.address(bytes),
    readVector: (descriptor, vector, pieces) => Math.max(0, Number(readv(descriptor, vector, pieces))),
    send(descriptor, bytes) {
      let sent = 0;
      while (sent < bytes.length) {
        const count = Number(send(descriptor, bytes.subarray(sent), bytes.length - sent, noSignal));
        if (count >= 0) sent += count;
        else if (koffi.errno() === errorTryAgain) poll(new Int32Array([descriptor, isWritable]), 1, -1);
        else if (koffi.errno() !== errorInterrupted) throw new Error(`send failed with errno ${koffi.errno()}`);
      }
    },
    endWithParent: () => void must(prctl(setParentDeathSignal, 'unsigned long', signalKill), 'prctl(PR_SET_PDEATHSIG)'),
    refuseNewPrivileges() {
      const zero = ['unsigned long', 0] as const;
      must(prctl(setNoNewPrivileges, 'unsigned long', 1, ...zero, ...zero, ...zero), 'prctl(PR_SET_NO_NEW_PRIVS)');
    },
    lock(descriptor) {
      if (flock(descriptor, lockExclusive | lockWithoutWaiting) === 0) return true;
      if (koffi.errno() === errorTryAgain) return false;
      throw new Error(`flock failed with errno ${koffi.errno()}`);
    },
    trimAllocator() {
      mallocTrim ??= library.func('int malloc_trim(size_t kept)');
      mallocTrim(0);
    },
    yieldCore: () => schedYield(),
    duplicate: (descriptor) => must(fcntl(descriptor, duplicateClosedOnExec, 'int', 0), 'fcntl(F_DUPFD_CLOEXEC)'),
    setEnvironment: (name, value) => void must(setenv(name, value, 1), `setenv of ${name}`),
    peerUser(descriptor) {
      // A struct ucred: process, user and group.
      const credentials = new Int32Array(3);
      must(
        getsockopt(descriptor, socketLevel, peerCredentials, credentials, [credentials.byteLength]),
        'getsockopt(SO_PEERCRED)',
      );
      return (credentials[1] as number) >>> 0;
    },
  };
}
