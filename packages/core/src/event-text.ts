/** Events and actions as lines of text: for traces, and for scenario files, which read the events back. */
import type { SchedulerAction, SchedulerEvent } from './events.ts';

export function formatEvent(event: SchedulerEvent): string {
  switch (event.kind) {
    case 'model-added': {
      const { rowsMax, queueRequestsMax, queueBytesMax, runMsMax } = event.limits;
      const queue = `queue-requests-max=${queueRequestsMax} queue-bytes-max=${queueBytesMax}`;
      return `model-added ${event.model} rows-max=${rowsMax} ${queue} run-ms-max=${runMsMax}`;
    }
    case 'model-removed':
      return `model-removed ${event.model}`;
    case 'worker-credit':
      return `worker-credit ${event.worker} batches-max=${event.batchesMax}`;
    case 'worker-serves':
    case 'worker-unserves':
      return `${event.kind} ${event.worker} ${event.model}`;
    case 'worker-gone':
      return `worker-gone ${event.worker}`;
    case 'request-arrived': {
      const { request, model, rows, bytes, group, deadlineAt } = event.request;
      return `request-arrived ${request} ${model} rows=${rows} bytes=${bytes} group=${group} deadline-at=${deadlineAt}`;
    }
    case 'request-cancelled':
      return `request-cancelled ${event.request} ${event.reason}`;
    case 'batch-answered':
      return `batch-answered ${event.batch}`;
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
    case 'refuse':
      return `refuse ${action.request} ${action.code}: ${action.message}`;
    case 'cancel-batch':
      return `cancel-batch ${action.batch} on worker ${action.worker}`;
    case 'kill-worker':
      return `kill-worker ${action.worker}: ${action.reason}`;
    case 'wake-at':
      return `wake-at ${action.at}`;
    case 'drained':
      return 'drained';
  }
}
