/** Events and actions as lines of text: for traces, and for scenario files, which read the events back. */
import type { SchedulerAction, SchedulerEvent } from './events.ts';
import { formatPolicy } from './policy-text.ts';

export function formatEvent(event: SchedulerEvent): string {
  switch (event.kind) {
    case 'model-added':
      return `model-added ${event.model} ${formatPolicy(event.policy)}`;
    case 'model-retired':
    case 'model-removed':
      return `${event.kind} ${event.model}`;
    case 'worker-credit':
      return `worker-credit ${event.worker} batches-max=${event.batchesMax}`;
    case 'worker-serves': {
      const reserved = event.priorityMax === Number.POSITIVE_INFINITY ? '' : ` priority-max=${event.priorityMax}`;
      return `worker-serves ${event.worker} ${event.model}${reserved}`;
    }
    case 'worker-unserves':
      return `worker-unserves ${event.worker} ${event.model}`;
    case 'worker-gone':
      return `worker-gone ${event.worker}${event.isKilled ? ' killed' : ''}`;
    case 'breaker-closed':
      return `${event.kind} ${event.worker}`;
    case 'request-arrived': {
      const { request, model, rows, bytes, group, deadlineAt, caller, priority, queueTimeoutMs, isAlone } =
        event.request;
      const whose = `${caller === '' ? '' : ` caller=${caller}`}${priority === 0 ? '' : ` priority=${priority}`}`;
      const wait = queueTimeoutMs === Number.POSITIVE_INFINITY ? '' : ` queue-timeout-ms=${queueTimeoutMs}`;
      return `request-arrived ${request} ${model} rows=${rows} bytes=${bytes} group=${group} deadline-at=${deadlineAt}${whose}${wait}${isAlone ? ' alone=1' : ''}`;
    }
    case 'request-cancelled':
      return `request-cancelled ${event.request} ${event.reason}`;
    case 'batch-answered':
      return `batch-answered ${event.batch}`;
    case 'batch-progressed':
      return `batch-progressed ${event.batch}`;
    case 'batch-credit':
      return `batch-credit ${event.batch} ${event.hasCredit ? 'some' : 'none'}`;
    case 'batch-failed':
      return `batch-failed ${event.batch} ${event.code}: ${event.message}`;
    case 'drain-started':
    case 'tick':
      return event.kind;
  }
}

export function formatAction(action: SchedulerAction): string {
  switch (action.kind) {
    case 'dispatch':
      return `dispatch batch ${action.batch} of ${action.model} to worker ${action.worker}: ${action.requests.join(' ')}`;
    case 'deliver':
      return `deliver batch ${action.batch}: ${action.requests.join(' ')}`;
    case 'refuse': {
      const again = action.retryAfterMs === undefined ? '' : ` retry-after-ms=${Math.round(action.retryAfterMs)}`;
      const death = action.hasKilledWorker === true ? ' has-killed-worker' : '';
      return `refuse ${action.request} ${action.code}${again}${death}: ${action.message}`;
    }
    case 'cancel-batch':
      return `cancel-batch ${action.batch} on worker ${action.worker}`;
    case 'kill-worker':
      return `kill-worker ${action.worker}: ${action.reason}`;
    case 'wake-at':
      return `wake-at ${action.at}`;
    case 'model-idle':
      return `model-idle ${action.model}`;
    case 'drained':
      return 'drained';
  }
}
