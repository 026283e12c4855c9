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

/** The test, where the edge has what it is about; the edges that lack it say why. */
export function unlessLacking(
  { lacks }: EdgeUnderTest,
  feature: Feature,
): (name: string, run: () => Promise<void>) => void {
  return (name, run) => {
    if (lacks[feature] === undefined) test(name, run);
  };
}
