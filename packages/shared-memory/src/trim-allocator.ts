import { systemCalls } from './system-calls.ts';

/**
 * Returns free memory of the C library's allocator to the system, which takes some milliseconds. Does nothing where the library
 * is not GNU's. (Here because it needs the C library.)
 */
export function trimAllocator(): void {
  try {
    systemCalls().trimAllocator();
  } catch {
    // Another library, another system, or no binary of koffi: the allocator keeps what it has.
  }
}
