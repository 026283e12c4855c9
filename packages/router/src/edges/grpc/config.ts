import { ConfigError, type ConfigProblem } from '@millrace/protocol';

/** The options of the gRPC edge; all are optional. */
export interface GrpcOptions {
  /** An inference request in JSON, as Connect's clients may send it. */
  readonly jsonBytesMax?: number;
  readonly inputsMax?: number;
  readonly outputsMax?: number;
  readonly dimensionsMax?: number;
  /** Parameters of a request, of an input or of an output. */
  readonly parametersMax?: number;
  /** A name, an id, a datatype or the key of a parameter. */
  readonly nameBytesMax?: number;
  /** The text of a parameter's value. */
  readonly parameterBytesMax?: number;
  /** Requests of one stream that are not answered yet; beyond, the stream is not read. */
  readonly streamRequestsMax?: number;
  /** The same while a sequence of the stream waits for a slot; beyond, that sequence is refused. */
  readonly streamSlotWaitRequestsMax?: number;
  /** Bytes of answers of the stream that wait for those before them, likewise. */
  readonly streamSlotWaitBytesMax?: number;
  /** Elements of an output that classification may have to sort. */
  readonly classificationElementsMax?: number;
  /** Classes that classification names for an output, of all its rows together. */
  readonly classificationResultsMax?: number;
  /** What `RetryInfo` says where the error catalogue advises a later attempt. */
  readonly retryAfterSeconds?: number;
}

export type GrpcConfig = Required<GrpcOptions>;

export const grpcDefaults: GrpcConfig = Object.freeze({
  jsonBytesMax: 16 * 1024 * 1024,
  inputsMax: 256,
  outputsMax: 256,
  dimensionsMax: 64,
  parametersMax: 256,
  nameBytesMax: 4096,
  parameterBytesMax: 256 * 1024,
  streamRequestsMax: 64,
  streamSlotWaitRequestsMax: 1024,
  streamSlotWaitBytesMax: 16 * 1024 * 1024,
  classificationElementsMax: 1_000_000,
  classificationResultsMax: 65_536,
  retryAfterSeconds: 1,
});

const ranges: Readonly<Record<keyof GrpcOptions, readonly [min: number, max: number]>> = {
  jsonBytesMax: [1, 2 ** 31 - 1],
  inputsMax: [1, 65_536],
  outputsMax: [1, 65_536],
  dimensionsMax: [1, 1024],
  parametersMax: [0, 65_536],
  nameBytesMax: [1, 65_536],
  parameterBytesMax: [1, 2 ** 31 - 1],
  streamRequestsMax: [1, 65_536],
  streamSlotWaitRequestsMax: [1, 65_536],
  streamSlotWaitBytesMax: [1, 2 ** 40],
  classificationElementsMax: [1, 100_000_000],
  classificationResultsMax: [1, 10_000_000],
  retryAfterSeconds: [0, 86_400],
};

/** Completes the options with defaults, or raises a `ConfigError` with everything that is wrong. */
export function resolveGrpcConfig(options: GrpcOptions): GrpcConfig {
  const given = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
  const config: GrpcConfig = { ...grpcDefaults, ...given };
  const problems: ConfigProblem[] = [];
  for (const field of Object.keys(ranges) as (keyof GrpcOptions)[]) {
    const [min, max] = ranges[field];
    const value = config[field];
    if (!Number.isInteger(value) || value < min || value > max) {
      problems.push({ source: 'grpc', field, message: `must be a whole number from ${min} to ${max}, not ${value}` });
    }
  }
  if (problems.length > 0) throw new ConfigError(problems);
  return Object.freeze(config);
}
