/** Attention as one operator: rows on the first axis of queries, keys, values and what belongs to them. */
import { isRows } from '../axes.ts';
import { mustNotCount } from '../broadcast.ts';
import type { OperatorCall, Transfer } from '../call.ts';
import { Size } from '../size.ts';
import { mixed, mustHaveDims, type OperatorOutput, plain, rows, unknown, type Value } from '../value.ts';

/** The role of an input of an attention operator, as far as rows matter. */
type Role =
  /** Rows on this axis. */
  | { readonly kind: 'rows'; readonly axis: number }
  | { readonly kind: 'weights' }
  /** Aligned at the last axes with scores of four axes: rows on the first of four, or none of it. */
  | { readonly kind: 'mask' };

const front: Role = { kind: 'rows', axis: 0 };
const weights: Role = { kind: 'weights' };
const mask: Role = { kind: 'mask' };
const scoreAxes = 4;

interface AttentionOutput {
  /** Of the rows. */
  readonly axis: number;
  /** As many axes as the queries, unless given. */
  readonly rank?: number;
  /** Where they are known; the size of the rows does not matter. */
  readonly sizes?: (call: OperatorCall) => readonly (Size | undefined)[];
}

function attention(roles: readonly (Role | undefined)[], outputs: readonly AttentionOutput[]): Transfer {
  return (call) => {
    mustNotCount(call.given);
    const query = call.input(0);
    const dims = mustHaveDims(query);
    const hasRows = isRows(query);
    if (hasRows && query.axis !== 0) throw mixed('the batch axis is taken for the sequence or its features');
    for (const [index, value] of call.inputs.entries()) {
      if (value !== undefined) mustPlay(roles[index], value, hasRows ? (dims[0] as Size) : undefined);
    }
    return call.node.outputs.map((_, index) => outputOf(outputs[index], dims, hasRows, call));
  };
}

function outputOf(
  output: AttentionOutput | undefined,
  dims: readonly Size[],
  hasRows: boolean,
  call: OperatorCall,
): OperatorOutput {
  if (output === undefined)
    return { kind: 'mixed', isCertain: false, reason: 'it is not known what this output holds' };
  const rank = output.rank ?? dims.length;
  const sizes = output.sizes?.(call) ?? [];
  const shape = Array.from({ length: rank }, (_, axis) =>
    axis === output.axis ? (dims[0] as Size) : (sizes[axis] ?? call.symbols.size()),
  );
  return hasRows ? rows(shape, output.axis) : plain(shape);
}

function mustPlay(role: Role | undefined, value: Value, batch: Size | undefined): void {
  if (role === undefined) throw unknown('an input is not understood');
  if (role.kind === 'weights') {
    if (value.kind !== 'plain') throw unknown('its weights depend on the rows');
    return;
  }
  if (batch === undefined) {
    if (value.kind !== 'plain') throw unknown('only some of its inputs have rows');
    return;
  }
  if (role.kind === 'rows') {
    if (!isRows(value)) throw mixed('an input has a fixed number of rows');
    if (value.axis !== role.axis) throw mixed('the batch axes of its inputs do not line up');
    if (!(value.dims[role.axis] as Size).equals(batch))
      throw unknown('an input has another number of elements for each row');
    return;
  }
  const own = mustHaveDims(value);
  if (isRows(value)) {
    if (own.length !== scoreAxes || value.axis !== 0)
      throw mixed('the batch axis of the mask does not line up with the scores');
    if (!(own[0] as Size).equals(batch)) throw unknown('the mask has another number of elements for each row');
  } else if (own.length === scoreAxes && own[0]?.is(1) !== true) throw mixed('the mask has a fixed number of rows');
}

/** With heads on an axis of their own, as wide as a value; otherwise side by side. */
const standardAnswers: AttentionOutput = {
  axis: 0,
  sizes: (call) => {
    const [query, value] = [mustHaveDims(call.input(0)), mustHaveDims(call.input(2))];
    if (query.length === scoreAxes) return [undefined, query[1], query[2], value[3]];
    const heads = Size.constant(call.integer('kv_num_heads', 1));
    const width = value[2]?.dividedBy(heads)?.times(Size.constant(call.integer('q_num_heads', 1)));
    return [undefined, query[1], width];
  },
};

/** Weights of queries, keys and values lie side by side. */
const fusedAnswers: AttentionOutput = {
  axis: 0,
  sizes: (call) => {
    const width = call.has('qkv_hidden_sizes') ? undefined : call.input(1).dims?.[1]?.dividedBy(Size.constant(3));
    return [undefined, mustHaveDims(call.input(0))[1], width];
  },
};

const multiHeadAnswers: AttentionOutput = {
  axis: 0,
  sizes: (call) => {
    const value = call.inputs[2]?.dims;
    return [undefined, mustHaveDims(call.input(0))[1], value?.length === 3 ? value[2] : undefined];
  },
};

/** As wide as the queries, unless keys and values are packed with them. */
const groupQueryAnswers: AttentionOutput = {
  axis: 0,
  sizes: (call) => {
    const query = mustHaveDims(call.input(0));
    return [undefined, query[1], call.inputs[1] === undefined ? undefined : query[2]];
  },
};
const cache = { axis: 0, rank: 4 };

/** The standard operator since opset 23: Q, K, V, mask, past keys and values. */
export const standardAttention = attention(
  [front, front, front, mask, front, front],
  [standardAnswers, cache, cache, cache],
);

/** com.microsoft.Attention: the mask is a list or has rows in front; a list of two or three numbers a row is not one number a row. */
export const fusedAttention = attention(
  [front, weights, weights, front, { kind: 'rows', axis: 1 }, mask],
  [fusedAnswers, { axis: 1, rank: 5 }],
);

export const multiHeadAttention = attention(
  [front, front, front, weights, front, mask, front, front],
  [multiHeadAnswers, cache, cache],
);

export const groupQueryAttention = attention(
  [front, front, front, front, front, front, weights, weights, weights],
  [groupQueryAnswers, cache, cache],
);

/** RotaryEmbedding: com.microsoft has the positions second, the standard one has them last. */
export function rotaryEmbedding(positionsInput: number): Transfer {
  return (call) => {
    mustNotCount(call.given);
    const value = call.input(0);
    if (isRows(value) && value.axis !== 0) throw mixed('the batch axis is taken for the sequence or its features');
    for (const [index, input] of call.inputs.entries()) {
      if (index === 0 || input === undefined || input.kind === 'plain') continue;
      const isAligned = index === positionsInput || positionsInput === 3;
      if (!isAligned || !isRows(value) || !isRows(input) || input.axis !== 0)
        throw unknown('an input is not understood');
      if (!(input.dims[0] as Size).equals(value.dims[0] as Size))
        throw unknown('its inputs have different numbers of elements for each row');
    }
    for (const [index, input] of call.inputs.entries()) {
      // Tables without positions of rows have one entry for each position, or rows of their own in front.
      if (index === 0 || input?.kind !== 'plain' || !isRows(value)) continue;
      if (mustHaveDims(input).length === 3) throw mixed('a table has a fixed number of rows');
      if (index === positionsInput && mustHaveDims(input).length === 2)
        throw mixed('positions for a fixed number of rows');
    }
    return isRows(value) ? value : plain(value.dims);
  };
}
