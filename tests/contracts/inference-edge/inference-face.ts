/** One protocol for inference, from its callers' view. The contract calls this interface; an adapter for each face speaks the protocol. */
import { type ErrorCode, errorCatalogue, type Tensor } from '@millrace/protocol';

export interface InferenceFace {
  call(request: FaceRequest): FaceCall;
  /** Sends what no reader of this protocol can make a request of. */
  callMalformed(): Promise<FaceOutcome>;
  /** Resolves when the answer has begun to come; nothing of it is read before `read`. */
  callUnread(request: FaceRequest): Promise<UnreadAnswer>;
  /** Ends its connections. */
  close(): void;
}

/** Options of a request, in the units of the embedding API; each protocol has its own field for each. */
export interface FaceRequest {
  readonly model: string;
  readonly version?: string;
  readonly id?: string;
  readonly inputs: readonly Tensor[];
  readonly outputs?: readonly WantedOutput[];
  readonly timeoutMs?: number;
  readonly queueTimeoutMs?: number;
  readonly priority?: number;
  readonly sequence?: { readonly id: bigint | string; readonly isStart?: boolean; readonly isEnd?: boolean };
  /** Others than those above. */
  readonly parameters?: Readonly<Record<string, string | number | boolean>>;
}

export interface WantedOutput {
  readonly name: string;
  /** How many classes to return instead of the tensor. */
  readonly classes?: number;
}

export interface FaceCall {
  /** Never rejects. */
  readonly outcome: Promise<FaceOutcome>;
  hangUp(): void;
}

export interface UnreadAnswer {
  read(): Promise<FaceOutcome>;
}

export type FaceOutcome = FaceAnswer | FaceRefusal;

export interface FaceAnswer {
  readonly model: string;
  readonly version: string;
  readonly id: string;
  readonly outputs: readonly Tensor[];
}

export interface FaceRefusal {
  /** Of the catalogue, from where the protocol carries it; `noAnswer` when the caller was told nothing. */
  readonly code: string;
  readonly message: string;
}

/** Instead of a code: the connection was refused, or ended before an answer. */
export const noAnswer = 'no answer';

/** A refusal whose status must be the one that the catalogue has for its code. */
export function refusalFrom(
  code: string,
  message: string,
  column: 'grpc' | 'http',
  status: string | number,
): FaceRefusal {
  const kind = errorCatalogue[code as ErrorCode];
  if (kind === undefined)
    throw new Error(`status ${status} came without a code of the catalogue: '${code}' ${message}`);
  if (kind[column] !== status) throw new Error(`'${code}' came with status ${status}, not ${kind[column]}: ${message}`);
  return { code, message };
}
