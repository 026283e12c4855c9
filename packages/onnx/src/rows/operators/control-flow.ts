/**
 * Conditions and loops: their subgraphs are analysed, and what decides their control flow must be the same for all
 * rows.
 */
import { axisFrom, isRows, withoutAxis } from '../axes.ts';
import type { OperatorCall, Transfer } from '../call.ts';
import { constantsOf } from '../contents.ts';
import { isSameValue, joinValues } from '../join.ts';
import type { Size } from '../size.ts';
import { mixed, mustHaveDims, plain, rows, unknown, type Value } from '../value.ts';

/** Iterations after which a loop whose values keep changing is abandoned. */
const turnsMax = 12;

function mustDecideAlike(value: Value | undefined, what: string): void {
  if (value === undefined || value.kind === 'plain') return;
  throw mixed(value.kind === 'counted' ? `the number of rows is ${what}` : `values of rows are ${what}`);
}

export const condition: Transfer = (call) => {
  const decision = call.input(0);
  mustDecideAlike(decision, 'the condition');
  const known = constantsOf(decision)?.[0];
  if (known !== undefined) return call.runSubgraph(call.graph(known === 0 ? 'else_branch' : 'then_branch'), []);
  const then = call.runSubgraph(call.graph('then_branch'), []);
  const otherwise = call.runSubgraph(call.graph('else_branch'), []);
  return then.map((value, index) => {
    const other = otherwise[index];
    if (other === undefined) throw unknown('its branches have different outputs');
    return joinValues(value, other, () => call.symbols.size());
  });
};

/**
 * Runs a body until what is known of its state no longer changes; returns the state and the other outputs of the last
 * iteration.
 */
function settle(
  call: OperatorCall,
  initial: readonly Value[],
  turn: (state: readonly Value[]) => { readonly state: readonly Value[]; readonly others: readonly Value[] },
): { readonly state: readonly Value[]; readonly others: readonly Value[] } {
  let state = initial;
  for (let turns = 0; turns < turnsMax; turns++) {
    const after = turn(state);
    const joined = state.map((value, index) => {
      const other = after.state[index];
      if (other === undefined) throw unknown('its body has another number of states');
      // The same symbol in every turn, so that a size that changes settles.
      const name = (axis: number): Size => call.symbols.result(`turn(${callId(call)},${index},${axis})`);
      return joinValues(value, other, name);
    });
    if (joined.every((value, index) => isSameValue(value, state[index] as Value)))
      return { state: joined, others: after.others };
    state = joined;
  }
  throw unknown('its values do not settle');
}

const ids = new WeakMap<OperatorCall, number>();
let lastId = 0;

/** Distinguishes loops: a size that changes in one is not that of another. */
function callId(call: OperatorCall): number {
  let id = ids.get(call);
  if (id === undefined) {
    id = ++lastId;
    ids.set(call, id);
  }
  return id;
}

/** What is known of a state after the last iteration: its changing sizes are those of no iteration in particular. */
function afterwards(value: Value, initial: Value, call: OperatorCall): Value {
  if (value.dims === undefined) return value;
  const dims = value.dims.map((size, axis) =>
    initial.dims?.[axis]?.equals(size) === true ? size : call.symbols.size(),
  );
  return isRows(value) ? rows(dims, value.axis) : { ...value, dims };
}

export const loop: Transfer = (call) => {
  mustDecideAlike(call.inputs[0], 'the number of turns');
  mustDecideAlike(call.inputs[1], 'the condition of the loop');
  const body = call.graph('body');
  const initial = call.inputs.slice(2).map((value) => {
    if (value === undefined) throw unknown('a state of the loop is missing');
    return value;
  });
  const { state, others } = settle(call, initial, (current) => {
    const [goesOn, ...outputs] = call.runSubgraph(body, [plain([]), plain([]), ...current]);
    mustDecideAlike(goesOn, 'the condition of the loop');
    return { state: outputs.slice(0, current.length), others: outputs.slice(current.length) };
  });
  const stacked = others.map((value) => stack(value, 0, call));
  return [...state.map((value, index) => afterwards(value, initial[index] as Value, call)), ...stacked];
};

/** One value of each iteration along a new axis. */
function stack(value: Value, axis: number, call: OperatorCall): Value {
  const dims = mustHaveDims(value);
  const turns = call.symbols.size();
  if (value.kind === 'counted') throw mixed('the number of rows is used as a value');
  const at = axisFrom(axis, dims.length + 1);
  const shape = [...dims.slice(0, at), turns, ...dims.slice(at)];
  return isRows(value) ? rows(shape, value.axis >= at ? value.axis + 1 : value.axis) : plain(shape);
}

export const scan: Transfer = (call) => {
  if (call.opset < 9) throw unknown('before opset 9 it has rows of its own');
  const scanned = call.integer('num_scan_inputs', 0);
  const states = call.inputs.length - scanned;
  const inputAxes = call.integers('scan_input_axes') ?? [];
  const outputAxes = call.integers('scan_output_axes') ?? [];
  const values = call.inputs.map((value) => {
    if (value === undefined) throw unknown('an input is missing');
    return value;
  });
  const slices = values.slice(states).map((value, index) => sliceOf(value, inputAxes[index] ?? 0));
  const initial = values.slice(0, states);
  const { state, others } = settle(call, initial, (current) => {
    const outputs = call.runSubgraph(call.graph('body'), [...current, ...slices]);
    return { state: outputs.slice(0, states), others: outputs.slice(states) };
  });
  const stacked = others.map((value, index) => stack(value, outputAxes[index] ?? 0, call));
  return [...state.map((value, index) => afterwards(value, initial[index] as Value, call)), ...stacked];
};

function sliceOf(value: Value, axis: number): Value {
  const dims = mustHaveDims(value);
  const at = axisFrom(axis, dims.length);
  if (isRows(value)) {
    if (value.axis === at) throw mixed('it goes through the rows one after the other');
    return rows(withoutAxis(dims, at), value.axis > at ? value.axis - 1 : value.axis);
  }
  if (value.kind === 'counted') throw mixed('the number of rows is used as a value');
  return plain(withoutAxis(dims, at));
}
