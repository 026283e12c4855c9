import { systemCalls } from './system-calls.ts';

/** Another descriptor of the same open file, which is not inherited. Undefined where it cannot be had. (Here because it needs the C library.) */
export function takeDuplicateDescriptor(): ((descriptor: number) => number) | undefined {
  try {
    return systemCalls().duplicate;
  } catch {
    // Another system, or no binary of koffi.
    return undefined;
  }
}
