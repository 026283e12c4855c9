/** An edge as the suite knows it. */
import type { InputFrame } from '@millrace/protocol';
import { test } from 'vitest';
import type { StreamDialect } from '../../chaos/streams/dialect.ts';

/** What an edge may lack; the reason stands where the edge is named. */
type Feature = 'modes' | 'output credit';

export interface EdgeUnderTest {
  readonly dialect: StreamDialect;
  readonly address: () => string;
  readonly lacks: Partial<Readonly<Record<Feature, string>>>;
  /** Where inputs come in calls of their own: sends one, and returns the code with which the call is refused; empty: it is not. */
  readonly sendAlone?: (stream: string, input: InputFrame) => Promise<string>;
}

/** Of the server that the suite starts. */
export const retainedOutputsMax = 4;

/** The test, or its name with the reason why the edge lacks what it is about. */
export function unlessLacking(
  { lacks }: EdgeUnderTest,
  feature: Feature,
): (name: string, run: () => Promise<void>) => void {
  const reason = lacks[feature];
  return (name, run) => (reason === undefined ? test(name, run) : test.skip(`${name}: not here, ${reason}`, run));
}
