import { type Datatype, datatypes, elementCount, type LoadSpec } from '@millrace/protocol';
import { type Engine, type Session, UnloadableModel } from '../engine.ts';
import { warmUpMemory } from '../warm-up/warm-up-memory.ts';
import { modelProblems, unsupportedProblems } from './check-model.ts';
import { FixedSizesSession, type SizedSession } from './fixed-sizes-session.ts';
import { isMemoryFull, memoryFullMessage } from './gpu-failure.ts';
import { type ModelSource, modelSourceOf } from './model-source.ts';
import { takeEngineInterface } from './native/engine-interface.ts';
import { NativeGraph } from './native/native-graph.ts';
import { hasNumbersOnly, NativeSession } from './native/native-session.ts';
import { OnnxruntimeSession } from './onnxruntime-session.ts';
import { mustOpenNativeGraph, mustOpenSession, notLoaded } from './open-session.ts';

/** Runs ONNX models, on the CPU or on a GPU. */
export const onnxruntimeEngine: Engine = {
  name: 'onnxruntime',
  async load(spec) {
    mustHaveNone(spec, unsupportedProblems(spec));
    const source = await mustRead(spec);
    const { batchSizes } = spec;
    return batchSizes === undefined ? opened(spec, source, 1) : openedForSizes(spec, source, batchSizes);
  },
};

async function openedForSizes(spec: LoadSpec, source: ModelSource, batchSizes: readonly number[]): Promise<Session> {
  const sessions: SizedSession[] = [];
  try {
    for (const rows of batchSizes) sessions.push({ rows, session: await opened(spec, source, rows) });
    return new FixedSizesSession(sessions, spec);
  } catch (error) {
    for (const { session } of sessions) await session.unload();
    throw error;
  }
}

/** A session whose model was checked, warmed up with the given number of rows. */
async function opened(spec: LoadSpec, source: ModelSource, rows: number): Promise<Session> {
  const engine = canRunNatively(spec, source) ? takeEngineInterface() : undefined;
  const graph =
    engine === undefined ? await mustOpenSession(spec, source.model) : mustOpenNativeGraph(engine, spec, source.model);
  try {
    mustHaveNone(spec, modelProblems(spec, graph.inputMetadata, graph.outputMetadata));
    const loaded =
      graph instanceof NativeGraph ? new NativeSession(graph, spec) : new OnnxruntimeSession(graph, spec, source);
    await warmUp(loaded, spec, rows);
    return loaded;
  } catch (error) {
    await graph.release();
    throw error;
  }
}

/** Texts, GPUs and values that are passed to every run are left to the engine's binding for Node. */
function canRunNatively(spec: LoadSpec, { defaults }: ModelSource): boolean {
  return spec.gpu === undefined && defaults.size === 0 && hasNumbersOnly(spec);
}

async function mustRead(spec: LoadSpec): Promise<ModelSource> {
  try {
    return await modelSourceOf(spec);
  } catch (error) {
    throw notLoaded(spec, error instanceof Error ? error.message.trim() : String(error));
  }
}

/**
 * The first run makes allocations that later ones do not, so it is made before the model is reported ready: rows of zeros, integers 1,
 * free dimensions 1, without optional inputs. Integers are sizes, lengths or divisors in some graphs, where a zero loops for ever or
 * crashes the process. The run also finds most outputs that cannot be written in place. A model may refuse such an input; that says
 * nothing about real ones. Strings have no such neutral value, so a model that takes them is not warmed up.
 */
async function warmUp(session: Session, spec: LoadSpec, rows: number): Promise<void> {
  if (spec.inputs.some(({ datatype, isOptional }) => datatype === 'BYTES' && isOptional !== true)) return;
  const inputs = spec.inputs.flatMap((input, index) => {
    if (input.isOptional === true) return [];
    const shape = input.shape.map((dimension) => (dimension === -1 ? 1 : dimension));
    if (spec.isBatched) shape[0] = rows;
    return [{ index, shape, data: neutralData(input.datatype, elementCount(shape)) }];
  });
  const outputs = spec.outputs.map((_, index) => index);
  try {
    await session.run({ inputs, outputs, memory: warmUpMemory() });
  } catch (error) {
    // A GPU without memory for the warm-up has none for requests.
    if (spec.gpu !== undefined && error instanceof Error && isMemoryFull(error.message)) {
      throw notLoaded(spec, memoryFullMessage);
    }
  }
}

/** Numbers that are unlikely to fail in any graph: 0, and 1 for integers. */
function neutralData(datatype: Datatype, count: number): Uint8Array {
  const elementBytes = datatypes[datatype].bytes ?? 0;
  const data = new Uint8Array(count * elementBytes);
  // Little-endian: the lowest byte comes first.
  if (/^U?INT/.test(datatype)) for (let at = 0; at < data.length; at += elementBytes) data[at] = 1;
  return data;
}

function mustHaveNone(spec: LoadSpec, problems: readonly string[]): void {
  if (problems.length === 0) return;
  throw new UnloadableModel(
    `model "${spec.name}" version ${spec.version} does not fit its configuration: ${problems.join('; ')}`,
  );
}
