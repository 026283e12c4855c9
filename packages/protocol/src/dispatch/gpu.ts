/** A GPU, and the library that drives it. TensorRT falls back to CUDA, CUDA to the CPU. */
export interface GpuSpec {
  readonly id: number;
  readonly provider: GpuProvider;
}

export type GpuProvider = 'cuda' | 'tensorrt';

/** The GPUs of the machine that workers run on. */
export interface GpuSupport {
  /** The CUDA part of the engine is installed. */
  readonly hasCuda: boolean;
  readonly hasTensorrt: boolean;
  /** Visible GPUs, numbered from 0. */
  readonly devices: number;
}

export const noGpuSupport: GpuSupport = Object.freeze({ hasCuda: false, hasTensorrt: false, devices: 0 });
