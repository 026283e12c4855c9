import { ConfigError, type ConfigProblem } from '@millrace/protocol';

/** The options of the REST edge; all are optional. */
export interface RestOptions {
  /** The JSON of a request: all of it, or the part before binary tensor data. */
  readonly jsonBytesMax?: number;
  /** The JSON of a request without the data of tensors: names, shapes, parameters and ignored keys. */
  readonly jsonHeadBytesMax?: number;
  /** Elements of all inputs of a request together whose data is JSON. */
  readonly jsonElementsMax?: number;
  /** Keys of one JSON object, among them the parameters of a request, an input or an output. */
  readonly keysMax?: number;
  /** A name, an id or a key, as it is written. */
  readonly nameBytesMax?: number;
  /** A request body as sent, and again after decompression. */
  readonly bodyBytesMax?: number;
  readonly inputsMax?: number;
  readonly outputsMax?: number;
  readonly dimensionsMax?: number;
  /** Elements of an output that classification may have to sort. */
  readonly classificationElementsMax?: number;
  /** Classes that classification names for an output, of all its rows together. */
  readonly classificationResultsMax?: number;
  /** Answers smaller than this are never compressed. */
  readonly compressBytesMin?: number;
  /** Up to this size a body is (de)compressed at once, above it off the event loop. */
  readonly zlibSyncBytesMax?: number;
  /** Bodies that are decompressed off the event loop at once; others wait. */
  readonly unpackingsMax?: number;
  /** Answers that are compressed off the event loop at once; others wait. */
  readonly packingsMax?: number;
  /** Of answers: 1 is fastest, 9 smallest. */
  readonly compressionLevel?: number;
  /** What `retry-after` says where the error catalogue advises a later attempt. */
  readonly retryAfterSeconds?: number;
}

export type RestConfig = Required<RestOptions>;

export const restDefaults: RestConfig = Object.freeze({
  jsonBytesMax: 16 * 1024 * 1024,
  jsonHeadBytesMax: 128 * 1024,
  jsonElementsMax: 4 * 1024 * 1024,
  keysMax: 256,
  nameBytesMax: 4096,
  bodyBytesMax: 256 * 1024 * 1024,
  inputsMax: 256,
  outputsMax: 256,
  dimensionsMax: 64,
  classificationElementsMax: 1_000_000,
  classificationResultsMax: 65_536,
  compressBytesMin: 1024,
  zlibSyncBytesMax: 16 * 1024,
  unpackingsMax: 2,
  packingsMax: 2,
  compressionLevel: 1,
  retryAfterSeconds: 1,
});

/** The largest size for both a Node.js buffer and `Inference-Header-Content-Length`. */
const bytesMaxMax = 2 ** 31 - 1;

const ranges: Readonly<Record<keyof RestOptions, readonly [min: number, max: number]>> = {
  jsonBytesMax: [1, bytesMaxMax],
  jsonHeadBytesMax: [1, bytesMaxMax],
  jsonElementsMax: [1, bytesMaxMax],
  keysMax: [1, 65_536],
  nameBytesMax: [1, 65_536],
  bodyBytesMax: [1, bytesMaxMax],
  inputsMax: [1, 65_536],
  outputsMax: [1, 65_536],
  dimensionsMax: [1, 1024],
  classificationElementsMax: [1, 100_000_000],
  classificationResultsMax: [1, 10_000_000],
  compressBytesMin: [0, bytesMaxMax],
  zlibSyncBytesMax: [0, 16 * 1024 * 1024],
  unpackingsMax: [1, 1024],
  packingsMax: [1, 1024],
  compressionLevel: [1, 9],
  retryAfterSeconds: [0, 86_400],
};

/** Completes the options with defaults, or raises a `ConfigError` with everything that is wrong. */
export function resolveRestConfig(options: RestOptions): RestConfig {
  const given = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
  const config: RestConfig = { ...restDefaults, ...given };
  const problems: ConfigProblem[] = [];
  for (const field of Object.keys(ranges) as (keyof RestOptions)[]) {
    const [min, max] = ranges[field];
    const value = config[field];
    if (!Number.isInteger(value) || value < min || value > max) {
      problems.push({ source: 'rest', field, message: `must be a whole number from ${min} to ${max}, not ${value}` });
    }
  }
  if (problems.length > 0) throw new ConfigError(problems);
  return Object.freeze(config);
}
