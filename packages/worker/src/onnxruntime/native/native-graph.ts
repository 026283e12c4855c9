import { datatypeFromElementType, elementTypeOf } from '@millrace/onnx';
import type { Datatype } from '@millrace/protocol';
import type { NativeFunction } from '@millrace/shared-memory';
import type { InferenceSession } from 'onnxruntime-node';
import { elementTypes } from '../element-types.ts';
import type { EngineInterface } from './engine-interface.ts';

/** The number of its element type in ONNX; undefined: values of this type are not passed without the engine's binding for Node. */
export function elementNumberOf(datatype: Datatype): number | undefined {
  return datatype === 'BYTES' ? undefined : elementTypeOf(datatype);
}

export interface GraphOptions {
  readonly threads: number;
  readonly logSeverity: number;
  /** Keys and values as ONNX Runtime documents them. */
  readonly entries: Readonly<Record<string, string>>;
}

/** A value that a run has returned: its memory is the engine's until `releaseValue`. */
export interface ReturnedValue {
  readonly shape: readonly number[];
  readonly address: bigint;
}

/** A graph that was loaded by the C interface of ONNX Runtime. */
export class NativeGraph {
  readonly inputMetadata: readonly InferenceSession.ValueMetadata[];
  readonly outputMetadata: readonly InferenceSession.ValueMetadata[];
  readonly #engine: EngineInterface;
  readonly #session: bigint;
  /** The names of inputs and outputs end with a zero byte; kept, because runs take their addresses. */
  readonly #texts: Uint8Array[] = [];
  readonly #addresses = new Map<string, bigint>();

  /** Throws with the message of the engine. */
  constructor(engine: EngineInterface, model: string | Uint8Array, options: GraphOptions) {
    this.#engine = engine;
    this.#session = openSession(engine, model, options);
    try {
      const { inputCount, inputName, inputType, outputCount, outputName, outputType } = engine.calls;
      this.inputMetadata = this.#metadataOf(inputCount, inputName, inputType);
      this.outputMetadata = this.#metadataOf(outputCount, outputName, outputType);
    } catch (error) {
      this.release();
      throw error;
    }
  }

  /** The address of the name of an input or output. */
  mustFindName(name: string): bigint {
    const address = this.#addresses.get(name);
    if (address === undefined) throw new Error(`the graph has no input or output "${name}"`);
    return address;
  }

  /** A value over this memory, which must be kept until `releaseValue`. */
  makeValue(data: Uint8Array, shape: BigInt64Array, elementNumber: number): bigint {
    const { createTensor } = this.#engine.calls;
    const { memoryInfo } = this.#engine;
    return this.#engine.mustMake((out) =>
      createTensor(memoryInfo, data, data.length, shape, shape.length, elementNumber, out),
    );
  }

  /** Blocks until the run has ended. An output that is 0 is made by the engine, and has to be released. */
  run(inputNames: BigUint64Array, inputs: BigUint64Array, outputNames: BigUint64Array, outputs: BigUint64Array): void {
    const { run } = this.#engine.calls;
    this.#engine.mustSucceed(
      run(this.#session, null, inputNames, inputs, inputs.length, outputNames, outputs.length, outputs),
    );
  }

  read(value: bigint): ReturnedValue {
    const { tensorInfoOfValue, tensorData, releaseTensorInfo } = this.#engine.calls;
    const info = this.#engine.mustMake((out) => tensorInfoOfValue(value, out));
    try {
      const address = this.#engine.mustMake((out) => tensorData(value, out));
      return { shape: Array.from(this.#dimensionsOf(info), Number), address };
    } finally {
      releaseTensorInfo(info);
    }
  }

  copyFrom(address: bigint, target: Uint8Array): void {
    if (target.length > 0) this.#engine.library.copyFrom(address, target);
  }

  releaseValue(value: bigint): void {
    this.#engine.calls.releaseValue(value);
  }

  release(): void {
    this.#engine.calls.releaseSession(this.#session);
  }

  #metadataOf(count: NativeFunction, nameOf: NativeFunction, typeOf: NativeFunction): InferenceSession.ValueMetadata[] {
    const engine = this.#engine;
    const found: InferenceSession.ValueMetadata[] = [];
    const total = Number(engine.mustMake((out) => count(this.#session, out)));
    for (let index = 0; index < total; index++) {
      const text = engine.mustMake((out) => nameOf(this.#session, index, engine.allocator, out));
      const name = engine.library.readText(text);
      engine.mustSucceed(engine.calls.free(engine.allocator, text));
      this.#keepName(name);
      const type = engine.mustMake((out) => typeOf(this.#session, index, out));
      try {
        found.push(this.#describe(name, type));
      } finally {
        engine.calls.releaseType(type);
      }
    }
    return found;
  }

  /** As the engine's binding for Node describes values: free dimensions by their names. */
  #describe(name: string, type: bigint): InferenceSession.ValueMetadata {
    const engine = this.#engine;
    const info = engine.mustMake((out) => engine.calls.tensorInfoOfType(type, out));
    if (info === 0n) return { name, isTensor: false };
    const elementNumber = Number(engine.mustMake((out) => engine.calls.elementType(info, out)));
    const datatype = datatypeFromElementType(elementNumber);
    const onnxName = datatype === undefined ? undefined : elementTypes[datatype]?.onnxName;
    if (onnxName === undefined) throw new Error(`Unsupported data type: ${elementNumber}`);
    const dimensions = this.#dimensionsOf(info);
    const names = new BigUint64Array(dimensions.length);
    if (names.length > 0) engine.mustSucceed(engine.calls.symbolicDimensions(info, names, names.length));
    const shape = Array.from(dimensions, (dimension, axis) =>
      dimension === -1n ? engine.library.readText(names[axis] as bigint) : Number(dimension),
    );
    return { name, isTensor: true, type: onnxName, shape };
  }

  #dimensionsOf(info: bigint): BigInt64Array {
    const { rank, dimensions } = this.#engine.calls;
    const found = new BigInt64Array(Number(this.#engine.mustMake((out) => rank(info, out))));
    if (found.length > 0) this.#engine.mustSucceed(dimensions(info, found, found.length));
    return found;
  }

  #keepName(name: string): void {
    const text = Buffer.from(`${name}\0`);
    this.#texts.push(text);
    this.#addresses.set(name, this.#engine.library.addressOf(text));
  }
}

function openSession(engine: EngineInterface, model: string | Uint8Array, options: GraphOptions): bigint {
  const { calls, env } = engine;
  const made = engine.mustMake((out) => calls.createSessionOptions(out));
  try {
    engine.mustSucceed(calls.setLogSeverity(made, options.logSeverity));
    engine.mustSucceed(calls.setIntraOpThreads(made, options.threads));
    for (const [key, value] of Object.entries(options.entries)) {
      engine.mustSucceed(calls.addConfigEntry(made, key, value));
    }
    return engine.mustMake((out) =>
      typeof model === 'string'
        ? calls.createSession(env, model, made, out)
        : calls.createSessionFromArray(env, model, model.length, made, out),
    );
  } finally {
    calls.releaseSessionOptions(made);
  }
}
