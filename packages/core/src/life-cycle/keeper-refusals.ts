/** Errors for requests that waited in vain for a context to be loaded. */
import type { ErrorCode } from '@millrace/protocol';
import type { ContextEntry, RevisionEntry } from './context-entry.ts';
import type { ContextName } from './keeper-events.ts';

export interface DemandRefusal {
  readonly code: ErrorCode;
  readonly message: string;
  readonly retryAfterMs?: number;
}

/** A load takes about this long; an earlier retry has little hope. */
const retryAfterMs = 1000;

export function notServed(name: ContextName): DemandRefusal {
  return { code: 'model-not-ready', message: `${name} is no longer served; request another version` };
}

export function unloaded(context: ContextEntry): DemandRefusal {
  const message = `${context.name} was unloaded while the request waited for it; request another version`;
  return { code: 'model-not-ready', message };
}

export function loadFailed(context: ContextEntry, reason: string, retryInMs: number | undefined): DemandRefusal {
  const message = `${context.name} could not be loaded: ${reason}`;
  if (retryInMs === undefined || retryInMs === Number.POSITIVE_INFINITY) return { code: 'model-not-ready', message };
  return { code: 'model-not-ready', message, retryAfterMs: Math.max(0, retryInMs) };
}

export function tooManyWait({ name, waiters }: ContextEntry): DemandRefusal {
  const message = `the queue for the load of ${name} is full (${waiters.length} requests); retry after a pause`;
  return { code: 'model-full', message, retryAfterMs };
}

export function expired({ name }: ContextEntry): DemandRefusal {
  const message = `the deadline passed while the request waited for ${name} to be loaded; set a later deadline`;
  return { code: 'deadline-exceeded', message };
}

export function contextTooLarge({ context, bytes }: RevisionEntry, budgetBytes: number): DemandRefusal {
  const needed = `${context.name} needs ${bytes} bytes, more than models.memoryBudget (${budgetBytes}) leaves beside pinned models`;
  return { code: 'model-not-ready', message: `${needed}; raise the budget or unpin other models` };
}
