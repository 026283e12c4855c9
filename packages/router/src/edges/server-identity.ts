/** The identity of the server for the metadata call of every protocol. */
export interface ServerIdentity {
  readonly name: string;
  readonly version: string;
  /** Protocol extensions that other parts of the server offer, named as in Triton's server metadata. */
  readonly extensions?: readonly string[];
}
