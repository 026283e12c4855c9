export interface InstanceGroup {
  readonly name: string;
  readonly device: 'cpu' | 'gpu';
  /** On GPUs: for each of `gpus`. */
  readonly count: number;
  /** Empty on the CPU. */
  readonly gpus: readonly number[];
  /** Its instances take only requests of this priority level or more urgent ones; Infinity: all. */
  readonly priorityMax: number;
  /** Threads of one instance; 0: the model's own setting. */
  readonly threads: number;
}
