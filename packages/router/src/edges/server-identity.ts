/** What every protocol's metadata call says of the server. */
export interface ServerIdentity {
  readonly name: string;
  readonly version: string;
  /** Protocol extensions that other parts of the server offer, named as in Triton's server metadata. */
  readonly extensions?: readonly string[];
}
