/** Requests for tests of the scheduler's parts. */
import type { ArrivedRequest } from '../../events.ts';
import { type ModelPolicy, resolveModelPolicy } from '../../model-policy.ts';
import { defaultBreakerPolicy } from '../instances/circuit-breaker.ts';
import { InstanceEntry, InstanceRecord } from '../instances/instance-entry.ts';
import { WorkerEntry } from '../instances/worker-entry.ts';
import { ModelEntry } from '../models/model-entry.ts';
import { CallerCount } from '../queues/caller-counts.ts';
import { RequestEntry } from '../requests/request-entry.ts';

export function modelWith(policy: Partial<ModelPolicy> = {}): ModelEntry {
  const bounds = { rowsMax: 8, queueRequestsMax: 1000, queueBytesMax: 1000, runMsMax: 1000 };
  return new ModelEntry('mlp', resolveModelPolicy({ ...bounds, ...policy }));
}

/** A request that came at time 0 as the `arrival`th. */
export function entryOf(model: ModelEntry, arrival: number, fields: Partial<ArrivedRequest> = {}): RequestEntry {
  const arrived: ArrivedRequest = {
    request: arrival,
    model: model.key,
    rows: 1,
    bytes: 10,
    group: 'a',
    deadlineAt: Infinity,
    caller: '',
    priority: 0,
    queueTimeoutMs: Infinity,
    isAlone: false,
    ...fields,
  };
  return new RequestEntry(arrived, model, new CallerCount(arrived.caller), arrival, 0, undefined);
}

/** The model on a worker of that id. */
export function instanceOf(model: ModelEntry, worker: number): InstanceEntry {
  return new InstanceEntry(new WorkerEntry(worker, 0), model, new InstanceRecord(defaultBreakerPolicy), Infinity);
}
