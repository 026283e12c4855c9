/** Entries that say which they are and show whether they are whole. */
export const loopStreams = ['small', 'page', 'large'];

const fillerBytes: Readonly<Record<string, number>> = { small: 10, page: 5000, large: 40_000 };

export function loopEntry(stream: string, number: number): Uint8Array {
  return Buffer.concat([Buffer.from(`${stream} ${number};`), Buffer.alloc(fillerBytes[stream] ?? 0, number % 251)]);
}

/** What a trim to that number puts in the place of the entries. */
export function loopSnapshot(stream: string, to: number): readonly Uint8Array[] {
  return [loopEntry(stream, to), Buffer.from(`up to ${to}`)];
}

/** What the loop is about to do, and has been told that it did. */
export const loopPhases = ['append', 'trim', 'take-over', 'remove'] as const;
export type LoopPhase = (typeof loopPhases)[number];

/** Where in a transaction the loop kills itself. */
export const killPoints = ['before', 'half', 'inside', 'after'] as const;
export type KillPoint = (typeof killPoints)[number];
