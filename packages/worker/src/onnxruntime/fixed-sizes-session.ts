import type { LoadSpec } from '@millrace/protocol';
import type { RunRequest, RunResult, Session } from '../engine.ts';

export interface SizedSession {
  /** The number of rows of every run. */
  readonly rows: number;
  readonly session: Session;
}

type Batch = RunRequest['inputs'][number];

/**
 * A model that runs in a few batch sizes only, each in a session of its own that never sees another shape. A batch between
 * two sizes is padded with zeros to the larger, and the padding rows are cut from the answer. A batch of unequal inputs, or
 * with more rows than the largest size, is run without padding: slower, but correct.
 */
export class FixedSizesSession implements Session {
  readonly #sessions: readonly SizedSession[];
  readonly #spec: LoadSpec;
  /** Buffers for padded inputs, by position: reused, because fresh pages cost more than the copy. */
  readonly #filled = new Map<number, Uint8Array>();

  /** `sessions`: ascending by their rows. */
  constructor(sessions: readonly SizedSession[], spec: LoadSpec) {
    this.#sessions = sessions;
    this.#spec = spec;
  }

  async run(request: RunRequest): Promise<RunResult> {
    const rows = request.inputs.find(({ index }) => this.#spec.inputs[index]?.hasDefault !== true)?.shape[0] ?? 0;
    const sized = this.#sessions.find((one) => one.rows >= rows) ?? this.#largest();
    if (sized.rows <= rows || !this.#isFillable(request, rows)) return sized.session.run(request);
    const inputs = request.inputs.map((input) => this.#filledUp(input, rows, sized.rows));
    const { outputs } = await sized.session.run({ ...request, inputs });
    return { outputs: outputs.map((output) => cut(output, sized.rows, rows)) };
  }

  #largest(): SizedSession {
    return this.#sessions.at(-1) as SizedSession;
  }

  /** An input with a default value applies to the whole run, and has no rows. */
  #isFillable({ inputs }: RunRequest, rows: number): boolean {
    if (rows === 0) return false;
    return inputs.every(
      ({ index, shape, data }) =>
        shape[0] === rows && data.length % rows === 0 && this.#spec.inputs[index]?.hasDefault !== true,
    );
  }

  async unload(): Promise<void> {
    this.#filled.clear();
    for (const { session } of this.#sessions) await session.unload();
  }

  #filledUp(input: Batch, rows: number, rowsWanted: number): Batch {
    const { index, shape, data } = input;
    const bytes = (data.length / rows) * rowsWanted;
    let buffer = this.#filled.get(index);
    if (buffer === undefined || buffer.length < bytes) {
      buffer = new Uint8Array(bytes);
      this.#filled.set(index, buffer);
    }
    buffer.set(data);
    buffer.fill(0, data.length, bytes);
    return { index, shape: [rowsWanted, ...shape.slice(1)], data: buffer.subarray(0, bytes) };
  }
}

/** The requested rows. An output with another number of rows than were run is passed on unchanged, for the caller to refuse. */
function cut(output: Batch, rowsRun: number, rows: number): Batch {
  const { index, shape, data } = output;
  if (shape[0] !== rowsRun) return output;
  const bytes = (data.length / rowsRun) * rows;
  return { index, shape: [rows, ...shape.slice(1)], data: data.subarray(0, bytes) };
}
