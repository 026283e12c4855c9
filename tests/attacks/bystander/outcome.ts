/** What became of one call of a bystander. */
export type Outcome =
  | { readonly kind: 'answered' }
  | { readonly kind: 'refused' | 'failed' | 'wrong'; readonly problem: string };

export const answered: Outcome = { kind: 'answered' };

/** A call that takes longer counts as failed. */
export const callMsMax = 15_000;

export interface BystanderPlace {
  readonly http: number;
  readonly grpc: number;
  readonly metrics: number;
  readonly isTls: boolean;
}
