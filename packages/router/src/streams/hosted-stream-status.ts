/** What clients and operators are told of a stream of this router. */
import type { HostedStreamParts } from './hosted-stream-parts.ts';
import type { StreamStatus } from './stream-gateway.ts';
import { endedFrameFrom } from './stream-refusals.ts';

export function hostedStreamStatus(parts: HostedStreamParts, isAttached: boolean): StreamStatus {
  const { id, opening, expiresAtMs, log, machine, clock } = parts;
  const { ending } = machine;
  return {
    id,
    model: opening.model,
    version: opening.version,
    epoch: log.epoch,
    isOwned: true,
    isAttached,
    openedAtMs: opening.openedAtMs,
    ageMs: clock.wallNow() - opening.openedAtMs,
    // Without a client it lives for the resume window only.
    expiresAtMs: Math.min(expiresAtMs, machine.resumableUntil),
    acceptedInput: machine.acceptedInput,
    outputs: machine.outputs,
    journalBytes: machine.counts().logBytes,
    exactness: opening.exactness?.verdict,
    ended: ending && endedFrameFrom(ending),
  };
}
