/** Rules for the contents of a batch. They do not depend on how the scheduler chooses them. */
import { largestPreferred, takePreferred } from './holding.ts';
import { type Ledger, type LedgerModel, type LedgerRequest, levelOf, requestRowsOf } from './ledger.ts';

/** What is wrong with a batch taken from the waiting requests of the model now; undefined: nothing. */
export function takeBatchFault(
  ledger: Ledger,
  model: LedgerModel,
  batch: readonly LedgerRequest[],
  nowMs: number,
): string | undefined {
  const [head] = batch;
  if (head === undefined) return 'it is empty';
  const { policy } = model;
  const left = model.waiting.filter((request) => !batch.includes(request));
  const rows = requestRowsOf(batch);
  if (new Set(batch).size !== batch.length || left.length + batch.length !== model.waiting.length) {
    return 'it has a request twice, or one that does not wait';
  }
  if (rows > policy.rowsMax && batch.length > 1) return 'it has too many rows';
  if (batch.some(({ arrived }) => arrived.group !== head.arrived.group)) return 'it mixes groups';
  if (batch.length > 1 && batch.some(({ isAlone }) => isAlone)) return 'it has company for one that must be alone';
  if (batch.some(({ arrived, queueTimeoutAt }) => Math.min(arrived.deadlineAt, queueTimeoutAt) <= nowMs)) {
    return 'the time of a request has passed';
  }
  if (batch.length > ledger.limits.lookAheadMax) return 'more requests were scanned than lookAheadMax allows';
  return (
    orderFault(head, batch, left) ??
    urgencyFault(ledger, model, batch, left) ??
    sizeFault(ledger, model, batch, left, nowMs)
  );
}

/** Within a caller: the oldest leads, and requests that could share a batch keep their order. */
function orderFault(
  head: LedgerRequest,
  batch: readonly LedgerRequest[],
  left: readonly LedgerRequest[],
): string | undefined {
  const isOlderKin = (other: LedgerRequest, request: LedgerRequest): boolean =>
    other.arrival < request.arrival &&
    other.arrived.caller === request.arrived.caller &&
    levelOf(other) === levelOf(request) &&
    other.isDelayed === request.isDelayed;
  const overtaken = left.find((other) => isOlderKin(other, head));
  if (overtaken !== undefined) return `${idOf(overtaken)} is older than what leads`;
  for (const [index, request] of batch.entries()) {
    const isMate = (other: LedgerRequest) => !other.isAlone && other.arrived.group === head.arrived.group;
    const passed = [...left, ...batch.slice(index + 1)].find((other) => isMate(other) && isOlderKin(other, request));
    if (passed !== undefined) return `${idOf(request)} overtakes ${idOf(passed)}`;
  }
  return undefined;
}

/** More urgent ones go first, and those that were delayed come behind their level. */
function urgencyFault(
  ledger: Ledger,
  model: LedgerModel,
  batch: readonly LedgerRequest[],
  left: readonly LedgerRequest[],
): string | undefined {
  const [head] = batch;
  if (head === undefined) return undefined;
  const urgency = (request: LedgerRequest): number => 2 * levelOf(request) + Number(request.isDelayed);
  if (Math.min(...model.waiting.map(urgency)) < urgency(head)) return 'something more urgent waits';
  // Requests that were not scanned cannot be judged.
  if (model.waiting.length > ledger.limits.lookAheadMax) return undefined;
  const last = Math.max(...batch.map(urgency));
  const passed = left.find((request) => isMateOf(head, request) && urgency(request) < last);
  return passed === undefined ? undefined : `it goes past ${idOf(passed)}, which is more urgent`;
}

/**
 * A batch ends when it is full, at a preferred size, or before a request that does not fit: into the largest preferred size
 * while the delay has not passed.
 */
function sizeFault(
  ledger: Ledger,
  model: LedgerModel,
  batch: readonly LedgerRequest[],
  left: readonly LedgerRequest[],
  nowMs: number,
): string | undefined {
  const [head] = batch;
  const rows = requestRowsOf(batch);
  const { policy } = model;
  if (head === undefined || head.isAlone || rows >= policy.rowsMax) return undefined;
  if (model.waiting.length > ledger.limits.lookAheadMax) return undefined;
  const mates = left.filter((request) => isMateOf(head, request));
  if (mates.length === 0 || mates.some(({ arrived }) => rows + arrived.rows > policy.rowsMax)) return undefined;
  const isOverfull = requestRowsOf(model.waiting) >= policy.rowsMax;
  const arrivals = model.waiting.map(({ arrivedAt }) => arrivedAt);
  // With more requests than a batch holds, the scheduler checks the delay of the leading one, which may be any of them.
  const isInTime = nowMs < (isOverfull ? Math.max(...arrivals) : Math.min(...arrivals)) + policy.delayMs;
  const isPastLargest = mates.some(({ arrived }) => rows + arrived.rows > largestPreferred(model));
  if (policy.delayMs > 0 && (policy.preferredRows.includes(rows) || (isInTime && isPastLargest))) {
    const isLargest = isOverfull || takePreferred(model)?.length === batch.length;
    return isLargest ? undefined : 'a larger preferred size could be had';
  }
  return `${idOf(mates[0] as LedgerRequest)} would have fitted`;
}

function isMateOf(head: LedgerRequest, request: LedgerRequest): boolean {
  return !request.isAlone && request.arrived.group === head.arrived.group;
}

function idOf(request: LedgerRequest): string {
  return `request ${request.arrived.request}`;
}
