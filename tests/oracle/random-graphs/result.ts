/** What came of one graph. */

export type OracleLane = 'inline' | 'local' | 'wire';

export type FailureKind =
  /** Shape, datatype or an element differs from ONNX Runtime's answer. */
  | 'wrong'
  /** Wrong in a way that shows memory nobody wrote. */
  | 'unwritten'
  /** ONNX Runtime refuses the request, and the server answered it. */
  | 'answered'
  /** HTTP 500 or more where ONNX Runtime answers. */
  | 'five-hundred'
  /** Another refusal where ONNX Runtime answers. */
  | 'refused'
  /** The model was not loaded, though ONNX Runtime loads it. */
  | 'not-loaded'
  /** Proven independent, although all requests in one run of ONNX Runtime give other answers than each alone. */
  | 'unsound'
  /** The process ended. */
  | 'crash';

export interface Failure {
  readonly kind: FailureKind;
  readonly message: string;
}

export interface CaseResult {
  readonly seed: number;
  readonly name: string;
  readonly lane: OracleLane;
  readonly independent: boolean;
  readonly stacked: string;
  readonly operators: readonly string[];
  readonly verdict: 'independent' | 'dependent' | 'unknown';
  /** Why the rows are not proven independent, and the operator of the node that decided. */
  readonly reason: string;
  readonly blamed: string;
  /** Requests that the server answered, and runs that more than one request shared. */
  readonly answers: number;
  readonly sharedRuns: number;
  /** The first failure of each kind. */
  readonly failures: readonly Failure[];
}
