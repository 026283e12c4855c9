/** The two checkouts of a comparison, and the servers that they start for a load. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type Contestant, millraceServing } from '../contestant.ts';
import type { Cell } from './cells.ts';
import type { Side } from './measure-instance.ts';

export type Checkouts = Readonly<Record<Side, string>>;

export function isBuiltCheckout(folder: string): boolean {
  return ['bin/millrace.js', 'dist'].every((path) => existsSync(join(folder, 'packages/millrace', path)));
}

export function contestantsFor({ modelPath, cores }: Cell, checkouts: Checkouts): Readonly<Record<Side, Contestant>> {
  const serving = (side: Side): Contestant => ({
    ...millraceServing(modelPath, 'local', join(checkouts[side], 'packages/millrace/bin/millrace.js')),
    cores,
  });
  return { before: serving('before'), after: serving('after') };
}
