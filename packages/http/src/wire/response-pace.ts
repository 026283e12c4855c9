/** Whether a client takes what waits for it quickly enough: looked at in windows that begin when something waits. */
import type { HttpLimits } from './config.ts';

export class ResponsePace {
  #sinceMs: number;
  #takenBytes = 0;

  constructor(nowMs: number) {
    this.#sinceMs = nowMs;
  }

  /** `takenBytes` rises with what the client has taken; `isWaiting` while there is more for it. */
  isTooSlow(isWaiting: boolean, takenBytes: number, limits: HttpLimits, nowMs: number): boolean {
    const elapsedMs = nowMs - this.#sinceMs;
    if (isWaiting && elapsedMs < limits.responseStallMsMax) return false;
    const taken = takenBytes - this.#takenBytes;
    this.#sinceMs = nowMs;
    this.#takenBytes = takenBytes;
    return isWaiting && isTooLittle(taken, elapsedMs, limits);
  }
}

/** Of output that waited all the while. */
export function isTooLittle(takenBytes: number, elapsedMs: number, { responseBytesPerSecondMin }: HttpLimits): boolean {
  return takenBytes === 0 || takenBytes * 1000 < responseBytesPerSecondMin * elapsedMs;
}
