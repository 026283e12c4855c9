import type { Tensor } from '@millrace/protocol';

/**
 * Edges use the memory of inputs for other requests as soon as the data plane has settled theirs. Overwrites it at that time,
 * before the answer is read, so that a test fails where somebody still reads it or an output is a view of an input.
 */
export function overwriteWhenSettled(answer: Promise<unknown>, inputs: readonly (Tensor | undefined)[]): void {
  const overwrite = (): void => {
    for (const input of inputs) input?.data.fill(0xdb);
  };
  answer.then(overwrite, overwrite);
}
