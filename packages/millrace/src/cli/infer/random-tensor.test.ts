import { type Datatype, datatypes, tensorProblem } from '@millrace/protocol';
import { expect, test } from 'vitest';
import { randomTensor } from './random-tensor.ts';

test.each(Object.keys(datatypes) as Datatype[])(
  'a random tensor of %s is well-formed and depends on nothing but its seed',
  (datatype) => {
    const spec = { name: 'x', datatype, shape: [-1, 3] };
    const tensor = randomTensor(spec, [20, 3], 5);
    expect(tensorProblem(datatype, tensor.shape, tensor.data)).toBeUndefined();
    expect(randomTensor(spec, [20, 3], 5).data).toEqual(tensor.data);
    expect(randomTensor(spec, [20, 3], 6).data).not.toEqual(tensor.data);
  },
);
