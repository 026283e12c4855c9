/** A GPU, and the library that drives it. What TensorRT cannot run falls to CUDA, what CUDA cannot run to the CPU. */
export interface GpuSpec {
  readonly id: number;
  readonly provider: GpuProvider;
}

export type GpuProvider = 'cuda' | 'tensorrt';

/** What there is of GPUs where workers run. */
export interface GpuSupport {
  /** The engine's own part for CUDA is installed. */
  readonly hasCuda: boolean;
  readonly hasTensorrt: boolean;
  /** GPUs that can be seen, numbered from 0. */
  readonly devices: number;
}

export const noGpuSupport: GpuSupport = Object.freeze({ hasCuda: false, hasTensorrt: false, devices: 0 });
