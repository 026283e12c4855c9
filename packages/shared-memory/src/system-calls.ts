/** The calls of the C library this package stands on; the only place that imports koffi. */
import { createRequire } from 'node:module';

export interface SystemCalls {
  /** A file descriptor of memory without a name, or throws. */
  createMemory(bytes: number): number;
  /** The address of a shared, writable mapping, or throws. */
  map(descriptor: number, bytes: number): bigint;
  view(address: bigint, bytes: number): ArrayBuffer;
  /** Gives the pages back; what is read there afterwards is zero. */
  discard(address: bigint, bytes: number): void;
  unmap(address: bigint, bytes: number): void;
  /** Has the kernel kill this process when the thread that started it ends. */
  endWithParent(): void;
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
const signalKill = 9;
const mapFailed = 0xffff_ffff_ffff_ffffn;

let loaded: SystemCalls | undefined;

/** Throws where the calls cannot be had: another platform, or a machine koffi has no binary for. */
export function systemCalls(): SystemCalls {
  loaded ??= loadSystemCalls();
  return loaded;
}

function loadSystemCalls(): SystemCalls {
  if (process.platform !== 'linux') throw new Error(`memfd_create is Linux's, this is ${process.platform}`);
  const koffi = createRequire(import.meta.url)('koffi') as typeof import('koffi');
  const library = koffi.load(null);
  const memfdCreate = library.func('int memfd_create(const char *name, unsigned int flags)');
  const ftruncate = library.func('int ftruncate(int descriptor, int64_t bytes)');
  const fcntl = library.func('int fcntl(int descriptor, int command, ...)');
  const mmap = library.func(
    'void *mmap(void *at, size_t bytes, int protection, int flags, int descriptor, int64_t offset)',
  );
  const madvise = library.func('int madvise(void *at, size_t bytes, int advice)');
  const munmap = library.func('int munmap(void *at, size_t bytes)');
  const prctl = library.func('int prctl(int option, ...)');
  const must = (result: number, call: string): number => {
    if (result < 0) throw new Error(`${call} failed with errno ${koffi.errno()}`);
    return result;
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
    discard: (address, bytes) => void must(madvise(address, bytes, removePages), 'madvise(MADV_REMOVE)'),
    unmap: (address, bytes) => void must(munmap(address, bytes), 'munmap'),
    endWithParent: () => void must(prctl(setParentDeathSignal, 'unsigned long', signalKill), 'prctl(PR_SET_PDEATHSIG)'),
  };
}
