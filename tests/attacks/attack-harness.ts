/** A real server with the attack models, its bystanders, and the measurements of both without an attack. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { testAuthority } from '@millrace/http/testing';
import { ModelRepository } from '@millrace/worker/testing';
import { ServerProcess } from '../support/server-process.ts';
import type { Attack } from './attack.ts';
import { addAttackModels } from './attack-models.ts';
import { budgetArguments, shortTimes } from './budgets.ts';
import type { BystanderReport } from './bystander/bystander.ts';
import { BystanderProcess } from './bystander/bystander-process.ts';
import { moveToCore, takePrecedence } from './pin.ts';
import type { TargetPorts } from './target.ts';
import { residentBytes } from './watch/memory-watch.ts';

export const attackerAddress = '127.0.0.2';
export const bystanderAddress = '127.0.0.3';
export const secondBystanderAddress = '127.0.0.4';

const serverCore = 0;
const loadCore = 1;
const warmUpMs = 1500;
/** Long enough for a p99 of the small requests. */
const calmMs = 3000;

export interface AttackHarnessOptions {
  /** Time limits short enough for attacks of a few seconds. */
  readonly isShort: boolean;
  readonly serve: readonly string[];
  readonly isTls: boolean;
  readonly descriptorsMax: number | undefined;
  /** Server and load on cores of their own. */
  readonly isPinned?: boolean;
  /** Whether the server collects its garbage on request, for `keptBytes`. */
  readonly measuresMemory?: boolean;
  /** Whose models are prepared. */
  readonly attacks: readonly Attack[];
}

export class AttackHarness {
  readonly server: ServerProcess;
  readonly ports: TargetPorts;
  readonly isTls: boolean;
  readonly bystanders: BystanderProcess;
  readonly #models: ModelRepository;
  readonly #secrets: string | undefined;
  calm!: BystanderReport;
  idleBytes = 0;
  isServerGone: boolean = false;

  private constructor(server: ServerProcess, models: ModelRepository, secrets: string | undefined) {
    this.server = server;
    this.#models = models;
    this.#secrets = secrets;
    this.isTls = secrets !== undefined;
    const port = (url: string): number => Number(new URL(url).port);
    this.ports = { http: port(server.url), grpc: port(server.grpcUrl), metrics: port(server.metricsUrl) };
    this.bystanders = new BystanderProcess({ ...this.ports, isTls: this.isTls });
    void server.exit.then(() => {
      this.isServerGone = true;
    });
  }

  static async open(options: AttackHarnessOptions): Promise<AttackHarness> {
    const models = new ModelRepository();
    addAttackModels(models);
    for (const attack of options.attacks) attack.prepare?.(models);
    const serve = [models.path, ...budgetArguments, ...(options.isShort ? shortTimes : []), ...options.serve];
    let secrets: string | undefined;
    if (options.isTls) {
      secrets = mkdtempSync(join(tmpdir(), 'millrace-attacks-'));
      const { cert, key } = testAuthority('attacked');
      writeFileSync(join(secrets, 'cert.pem'), cert);
      writeFileSync(join(secrets, 'key.pem'), key);
      serve.push('--tls-certificate-file', join(secrets, 'cert.pem'), '--tls-key-file', join(secrets, 'key.pem'));
      // The certificate is self-signed.
      process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';
    }
    const { descriptorsMax } = options;
    const limited = ['/bin/sh', '-c', 'ulimit -n "$0" && exec "$@"', String(descriptorsMax)];
    const server = await ServerProcess.start(serve, {
      ...(descriptorsMax === undefined ? {} : { wrapper: limited }),
      measuresMemory: options.measuresMemory === true,
    });
    delete process.env.NODE_TLS_REJECT_UNAUTHORIZED;
    const harness = new AttackHarness(server, models, secrets);
    if (options.isPinned === true) harness.#pin();
    await harness.#settle();
    return harness;
  }

  #pin(): void {
    const children = readFileSync(`/proc/${this.routerPid}/task/${this.routerPid}/children`, 'utf8').trim();
    moveToCore(serverCore, [this.routerPid, ...(children === '' ? [] : children.split(' ').map(Number))]);
    // Processes that this process starts later inherit the core.
    moveToCore(loadCore, [process.pid, this.bystanders.pid]);
    takePrecedence(this.bystanders.pid);
  }

  get routerPid(): number {
    return this.server.routerPid;
  }

  /** Calls until the code paths are warm, then measures the latencies without an attack. */
  async #settle(): Promise<void> {
    await this.bystanders.start([bystanderAddress]);
    await wait(warmUpMs);
    await this.bystanders.stop();
    await this.bystanders.start([bystanderAddress]);
    await wait(calmMs);
    this.idleBytes = residentBytes(this.routerPid) ?? 0;
    this.calm = (await this.bystanders.stop())[bystanderAddress] as BystanderReport;
  }

  async close(): Promise<void> {
    this.bystanders.close();
    if (!this.isServerGone) await this.server.stop();
    this.#models.remove();
    if (this.#secrets !== undefined) rmSync(this.#secrets, { recursive: true });
  }
}

export function wait(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
