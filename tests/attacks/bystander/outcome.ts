/** The outcome of one call of a bystander. */
export type BystanderOutcome =
  | { readonly kind: 'answered' }
  | { readonly kind: 'refused' | 'failed' | 'wrong'; readonly problem: string };

export const answered: BystanderOutcome = { kind: 'answered' };

/** A call that takes longer counts as failed. */
export const callMsMax = 15_000;

export interface BystanderPorts {
  readonly http: number;
  readonly grpc: number;
  readonly metrics: number;
  readonly isTls: boolean;
}
