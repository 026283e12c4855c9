/** The paths that change the server or show its internal state. A test compares them with the routes and methods. */
interface Prefix {
  readonly text: string;
  /** A letter that no inference path has at this position: checked first, because it costs nothing. */
  readonly at: number;
  readonly letter: number;
}

function prefix(text: string, at: number): Prefix {
  return { text, at, letter: text.charCodeAt(at) };
}

const ownRest = prefix('/v1/management/', 2);
const ownGrpc = prefix('/millrace.v1.Management/', 1);
const tritonRest = prefix('/v2/repository/', 4);
/** All methods of the service that begin so, and no other. */
const tritonGrpc = prefix('/inference.GRPCInferenceService/Repository', 32);

/** Called for every request of a port without management. */
export function isManagementPath(path: string): boolean {
  return begins(path, tritonGrpc) || begins(path, tritonRest) || begins(path, ownRest) || begins(path, ownGrpc);
}

function begins(path: string, { text, at, letter }: Prefix): boolean {
  return path.charCodeAt(at) === letter && path.startsWith(text);
}
