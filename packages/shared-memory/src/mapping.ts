import assert from 'node:assert';
import { closeSync, fstatSync } from 'node:fs';
import { type SystemCalls, systemCalls } from './system-calls.ts';

/**
 * Memory that is mapped into this process and another. It has no name in any file system, so nothing is left behind
 * when both have ended, in whatever way.
 *
 * When it is unmapped: a read of unmapped memory is a segmentation fault, not an exception, so no code decides it. The
 * mapping is removed when the garbage collector has found the ArrayBuffer, and with it every view, unreachable.
 * `discard` returns the pages before that, and is harmless: a late reader sees zeros.
 * Never transfer the buffer to another thread: it would outlive the object whose collection is waited for.
 */
export class Mapping {
  readonly bytes: Uint8Array;
  readonly #system: SystemCalls;
  readonly #address: bigint;
  #descriptor: number | undefined;

  constructor(system: SystemCalls, descriptor: number, bytes: number) {
    this.#system = system;
    this.#address = system.map(descriptor, bytes);
    const buffer = system.view(this.#address, bytes);
    unmapWhenUnreachable.register(buffer, { system, address: this.#address, bytes });
    this.bytes = new Uint8Array(buffer);
    this.#descriptor = descriptor;
  }

  /** For passing to a child process that is being spawned. */
  get descriptor(): number {
    assert(this.#descriptor !== undefined, 'the descriptor of this mapping has been closed');
    return this.#descriptor;
  }

  /** The mapping stays; it can no longer be passed to another process. */
  closeDescriptor(): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor);
    this.#descriptor = undefined;
  }

  /** A part of it that is discarded must begin and end with a page. */
  get pageBytes(): number {
    return this.#system.pageBytes;
  }

  /**
   * Returns the memory to the system, in both processes, while views may still exist. False: the system takes none back, as where a sandbox
   * stands in for the kernel; its content is as it was.
   */
  discard(offset = 0, bytes: number = this.bytes.length): boolean {
    return this.#system.discard(this.#address + BigInt(offset), bytes);
  }
}

const unmapWhenUnreachable = new FinalizationRegistry<{ system: SystemCalls; address: bigint; bytes: number }>(
  ({ system, address, bytes }) => system.unmap(address, bytes),
);

/** The size of a page of shared memory; of most machines where there is none. */
export function sharedPageBytes(): number {
  try {
    return systemCalls().pageBytes;
  } catch {
    return 4096;
  }
}

/**
 * New memory to share, or undefined (with the reason reported) where it is not available: then bytes are copied
 * instead.
 */
export function takeNewMapping(bytes: number, onUnavailable: (reason: string) => void): Mapping | undefined {
  let descriptor: number | undefined;
  try {
    const system = systemCalls();
    descriptor = system.createMemory(bytes);
    return new Mapping(system, descriptor, bytes);
  } catch (error) {
    if (descriptor !== undefined) closeSync(descriptor);
    onUnavailable(reasonFrom(error));
    return undefined;
  }
}

/** Memory that another process created, by the inherited descriptor. The descriptor is closed. */
export function takeInheritedMapping(
  descriptor: number,
  bytes: number,
  onUnavailable: (reason: string) => void,
): Mapping | undefined {
  try {
    const system = systemCalls();
    const { size } = fstatSync(descriptor);
    // Reading past the end of the file would be a SIGBUS.
    if (size < bytes) throw new Error(`descriptor ${descriptor} has ${size} bytes of memory, not ${bytes}`);
    const mapping = new Mapping(system, descriptor, bytes);
    mapping.closeDescriptor();
    return mapping;
  } catch (error) {
    onUnavailable(reasonFrom(error));
    return undefined;
  }
}

function reasonFrom(error: unknown): string {
  return `shared memory is not available: ${error instanceof Error ? error.message : String(error)}`;
}
