export interface LoadOverrides {
  /** The whole configuration, in its JSON form, instead of the repository's. */
  readonly config?: string;
  /** By path below the model's folder, for instance `1/model.onnx`; instead of everything in the repository. */
  readonly files?: ReadonlyMap<string, Uint8Array>;
}
