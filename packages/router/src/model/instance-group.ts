export interface InstanceGroup {
  readonly name: string;
  readonly device: 'cpu' | 'gpu';
  /** On GPUs: for each of `gpus`. */
  readonly count: number;
  /** Empty on the CPU. */
  readonly gpus: readonly number[];
  /** It takes requests of this priority level and more urgent ones only; Infinity: all. */
  readonly priorityMax: number;
  /** Threads of one instance; 0: as many as the model's others. */
  readonly threads: number;
}
