/** Checks whether a client reads its pending output fast enough, in windows that begin when output has to wait. */
import type { HttpLimits } from './config.ts';

export class ResponsePace {
  #sinceMs: number;
  #takenBytes = 0;

  constructor(nowMs: number) {
    this.#sinceMs = nowMs;
  }

  /** `takenBytes` rises with what the client has read; `isWaiting` while there is more for it. */
  isTooSlow(isWaiting: boolean, takenBytes: number, limits: HttpLimits, nowMs: number): boolean {
    const elapsedMs = nowMs - this.#sinceMs;
    if (isWaiting && elapsedMs < limits.responseStallMsMax) return false;
    const taken = takenBytes - this.#takenBytes;
    this.#sinceMs = nowMs;
    this.#takenBytes = takenBytes;
    return isWaiting && isTooLittle(taken, elapsedMs, limits);
  }
}

/** Since when the output has been waiting without a pause. */
export function isTooLittle(takenBytes: number, elapsedMs: number, { responseBytesPerSecondMin }: HttpLimits): boolean {
  return takenBytes === 0 || takenBytes * 1000 < responseBytesPerSecondMin * elapsedMs;
}
