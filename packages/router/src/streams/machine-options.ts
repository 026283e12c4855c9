/** Options of the machines of streams: streams of models of one kind share them. */
import { resolveStreamMachineConfig, type StreamMachineOptions } from '@millrace/core';
import { isExact } from './exactness.ts';
import type { OpeningRecord } from './opening-record.ts';
import type { StreamSettings } from './stream-options.ts';

export class MachineOptions {
  readonly #settings: StreamSettings;
  readonly #byKind = new Map<string, StreamMachineOptions<Uint8Array>>();

  constructor(settings: StreamSettings) {
    this.#settings = settings;
  }

  of({ modelKind, isResumable, exactness }: OpeningRecord): StreamMachineOptions<Uint8Array> {
    const isComparing = exactness === undefined || isExact(exactness.verdict);
    const key = `${modelKind} ${isResumable} ${isComparing}`;
    let options = this.#byKind.get(key);
    if (options === undefined) {
      const {
        resumeWindowMs,
        journalWaitMsMax,
        inputBytesMax,
        retainedOutputsMax,
        retainedBytesMax,
        lateInputs,
        latenessMsMax,
      } = this.#settings;
      const config = resolveStreamMachineConfig({
        model: modelKind,
        isResumable,
        resumeWindowMs,
        journalWaitMsMax,
        inputBytesMax,
        retainedOutputsMax,
        retainedBytesMax,
        lateInputs,
        latenessMsMax,
      });
      options = { config, isSame: isComparing ? isSame : isTakenForSame };
      this.#byKind.set(key, options);
    }
    return options;
  }
}

function isSame(journaled: Uint8Array, again: Uint8Array): boolean {
  return Buffer.compare(journaled, again) === 0;
}

/** A model whose outputs differ from run to run: those that are journaled hold. */
function isTakenForSame(): boolean {
  return true;
}
