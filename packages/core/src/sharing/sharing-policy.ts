import { assert } from '../assert.ts';

/** Which models share worker processes, and how many share one. */
export interface SharingPolicy {
  /** The files of a version, with its weights. */
  readonly fileBytesMax: number;
  /** Processor time of its load, for which the other models of the worker wait. */
  readonly loadMsMax: number;
  /**
   * The shortest of `runsMin` runs or more. On a busy machine single runs take many times as long, through no fault of the
   * model; a model with a few long runs among many short ones is found by `busyShareMax`, if they matter.
   */
  readonly runMsMax: number;
  readonly runsMin: number;
  /** The shortest of two runs or more: there is no need to wait for further ones. */
  readonly longRunMsMax: number;
  /** The part of a worker's time that one model may use while others are loaded in the same worker. */
  readonly busyShareMax: number;
  /**
   * How often within `killsMs` a worker may be killed from outside while it runs a batch of the model: the cause may be the
   * memory that the model takes, or nothing to do with it.
   */
  readonly killsMax: number;
  readonly killsMs: number;
  /** Models that one worker holds. */
  readonly modelsMax: number;
  /** Workers that are started before one of them holds a second model, so that models which run at the same time use several cores. */
  readonly spreadWorkers: number;
}

const mebibyte = 1024 * 1024;

export const defaultSharingPolicy: SharingPolicy = Object.freeze({
  fileBytesMax: 16 * mebibyte,
  loadMsMax: 100,
  runMsMax: 5,
  runsMin: 8,
  longRunMsMax: 50,
  busyShareMax: 0.5,
  killsMax: 1,
  killsMs: 600_000,
  modelsMax: 32,
  spreadWorkers: 2,
});

export function resolveSharingPolicy(options: Partial<SharingPolicy>): SharingPolicy {
  const policy = Object.freeze({ ...defaultSharingPolicy, ...options });
  assert(policy.modelsMax >= 1, 'modelsMax is at least 1');
  assert(policy.spreadWorkers >= 1, 'spreadWorkers is at least 1');
  assert(policy.runsMin >= 1, 'runsMin is at least 1');
  return policy;
}
