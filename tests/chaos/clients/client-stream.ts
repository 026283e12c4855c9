/** One stream of a plan, by @millrace/client as a program would use it. Whatever a program must never see is noted as a problem. */
import { type Client, type InferenceStream, MillraceError, type StreamedOutput } from '@millrace/client';
import type { StreamPayload } from '@millrace/protocol';
import type { StreamPlan } from '../streams/stream-plans.ts';

export interface ClientStreamOptions {
  readonly client: Client;
  readonly transport: string;
  readonly plan: StreamPlan;
  /** Of an undisturbed run; undefined: this is one. */
  readonly expected: readonly string[] | undefined;
  /** Between inputs. */
  readonly paceMs: number;
  /** Leaves the iteration after so many outputs, which cancels the stream; undefined: never. */
  readonly leaveAfter: number | undefined;
}

/** Longer than any restart of a router on a busy machine; the server is told the same. */
export const resumeSeconds = 600;

export class ClientStream {
  readonly options: ClientStreamOptions;
  readonly problems: string[] = [];
  readonly outputs: string[] = [];
  readonly gapsMs: number[] = [];
  readonly startedAt = performance.now();
  endedAt = 0;
  /** `done`, `left`, or the code of the error that it ended with. */
  ending = '';
  count = 0;
  readonly #stream: InferenceStream;
  #hurry: () => void = () => {};
  #isHurried: boolean = false;

  constructor(options: ClientStreamOptions) {
    this.options = options;
    const { client, plan } = options;
    this.#stream = client.stream(plan.model, {
      parameters: plan.parameters,
      resumeMsMax: resumeSeconds * 1000,
      onResumed: (gapMs) => this.gapsMs.push(gapMs),
    });
  }

  get title(): string {
    const { plan, transport } = this.options;
    return `${this.#stream.streamId}, ${plan.name} (${plan.inputs.length} inputs), ${transport}`;
  }

  async run(): Promise<void> {
    const sending = this.#send();
    try {
      this.ending = (await this.#read()) ? 'done' : 'left';
    } catch (error) {
      this.ending = error instanceof MillraceError ? error.code : 'no error of the client';
      if (!(error instanceof MillraceError)) this.problems.push(`threw: ${String(error)}`);
      else if (!this.#mayFailWith(error)) this.problems.push(`refused: ${error.code}: ${error.message}`);
    }
    this.hurry();
    await sending;
    this.endedAt = performance.now();
  }

  /** Sends what is left without pauses. */
  hurry(): void {
    this.#isHurried = true;
    this.#hurry();
  }

  /** Nothing more is expected of it. */
  abandon(problem: string): void {
    this.problems.push(problem);
    this.#stream.cancel(problem);
  }

  /** A model that cannot be resumed may lose its worker; whether one was killed is for the verdict. */
  #mayFailWith({ code }: MillraceError): boolean {
    return code === 'worker-lost' && !this.options.plan.isResumable;
  }

  async #send(): Promise<void> {
    const { inputs, endsEmpty } = this.options.plan;
    try {
      for (const [index, input] of inputs.entries()) {
        if (index > 0 && !this.#isHurried) await this.#pause();
        if (index === inputs.length - 1 && !endsEmpty) await this.#stream.sendLast(programValue(input));
        else await this.#stream.send(programValue(input));
      }
      if (endsEmpty) await this.#stream.end();
    } catch (error) {
      // The iteration says the same.
      if (!(error instanceof MillraceError)) this.problems.push(`send threw: ${String(error)}`);
    }
  }

  /** False: it was left early. */
  async #read(): Promise<boolean> {
    const { expected, leaveAfter } = this.options;
    for await (const output of this.#stream) {
      this.count += 1;
      const key = keyOf(output);
      if (output.sequence !== this.count) {
        const what = output.sequence < this.count ? 'doubled' : 'lost';
        this.problems.push(`${what}: output ${output.sequence} came as number ${this.count}`);
      } else if (expected === undefined) this.outputs.push(key);
      else if (expected[this.count - 1] !== key) {
        this.problems.push(
          `different: output ${this.count} is\n    ${key}, undisturbed\n    ${expected[this.count - 1]}`,
        );
      }
      if (this.count === leaveAfter) return false;
    }
    if (expected !== undefined && this.count !== expected.length) {
      this.problems.push(`lost: it is done after ${this.count} outputs of ${expected.length}`);
    }
    return true;
  }

  #pause(): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, this.options.paceMs);
      this.#hurry = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

/** What a program would pass. */
function programValue(payload: StreamPayload): unknown {
  if (payload.kind === 'text') return payload.text;
  if (payload.kind !== 'tensors') throw new Error(`no plan has inputs of ${payload.kind}`);
  return Object.fromEntries(
    payload.tensors.map(({ name, datatype, shape, data }) => {
      const { buffer } = Uint8Array.from(data);
      return [name, { shape, data: datatype === 'FP32' ? new Float32Array(buffer) : new Int32Array(buffer) }];
    }),
  );
}

/** All that a program sees of an output. */
function keyOf({ sequence, inputSequence, isLast, text, token, tensors }: StreamedOutput): string {
  const parts = Object.values(tensors).map(({ datatype, shape, bytes }) => {
    return [datatype, shape, Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('base64')];
  });
  return JSON.stringify([sequence, inputSequence, isLast, text, token, Object.keys(tensors), parts]);
}
