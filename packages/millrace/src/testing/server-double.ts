/** A server for tests of the command: it opens no port, and the test controls it. */
import type { TensorSpec } from '@millrace/protocol';
import type { ExposureNotice, RunningServer, ServedModelStatus } from '../running-server.ts';

export function servedModelStatus(changes: Partial<ServedModelStatus> = {}): ServedModelStatus {
  const input: TensorSpec = { name: 'x', datatype: 'FP32', shape: [-1, 4] };
  const output: TensorSpec = { name: 'y', datatype: 'FP32', shape: [-1, 2] };
  return {
    name: 'mlp',
    version: '1',
    state: 'ready',
    reason: '',
    loadMs: 210,
    inputs: [input],
    outputs: [output],
    ...changes,
  };
}

export class ServerDouble implements RunningServer {
  host = '127.0.0.1';
  readonly httpUrl = 'http://127.0.0.1:8000';
  readonly grpcUrl = 'http://127.0.0.1:8001';
  readonly metricsUrl = 'http://127.0.0.1:8002/metrics';
  managementUrl: string | undefined;
  notices: readonly ExposureNotice[] = [];
  /** The calls it got, in order. */
  readonly calls: string[] = [];
  #models: readonly ServedModelStatus[];
  readonly #listeners = new Set<() => void>();
  readonly #drained: Promise<void>;

  constructor(models: readonly ServedModelStatus[], drained: Promise<void> = Promise.resolve()) {
    this.#models = models;
    this.#drained = drained;
  }

  become(models: readonly ServedModelStatus[]): void {
    this.#models = models;
    for (const listener of this.#listeners) listener();
  }

  models(): readonly ServedModelStatus[] {
    return this.#models;
  }

  onModelChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  replaceCertificates(): void {
    this.calls.push('replace-certificates');
  }

  stopBeingReady(): void {
    this.calls.push('stop-being-ready');
  }

  drain(): Promise<void> {
    this.calls.push('drain');
    return this.#drained;
  }

  async close(): Promise<void> {
    this.calls.push('close');
  }
}
