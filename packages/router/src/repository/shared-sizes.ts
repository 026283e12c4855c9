import type { OnnxGraph } from '@millrace/onnx';
import type { TensorSpec } from '@millrace/protocol';
import type { SharedSize } from '../model/model-view.ts';

/** Free sizes that several axes of the inputs share by name. Inputs that the configuration reshapes are left out. */
export function sharedSizesOf(
  { inputs, defaultedInputs }: OnnxGraph,
  specs: readonly TensorSpec[],
): readonly SharedSize[] {
  const byName = new Map<string, { readonly input: number; readonly axis: number }[]>();
  for (const { name, shape } of [...inputs, ...defaultedInputs]) {
    const input = specs.findIndex((spec) => spec.name === name);
    if (input < 0 || specs[input]?.engineShape !== undefined) continue;
    for (const [axis, size] of (shape ?? []).entries()) {
      if (typeof size === 'number' || size === '') continue;
      byName.set(size, [...(byName.get(size) ?? []), { input, axis }]);
    }
  }
  return [...byName].filter(([, axes]) => axes.length > 1).map(([name, axes]) => ({ name, axes }));
}
