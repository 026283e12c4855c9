import type { AttributeValue, GraphProto, NodeProto } from '../model/model-proto.ts';
import type { Symbols } from './symbols.ts';
import { type OperatorOutput, type SequenceValue, unknown, type Value } from './value.ts';

/** Runs a subgraph of the current node: values for its inputs in, values of its outputs out. */
export type RunSubgraph = (graph: GraphProto, inputs: readonly Value[]) => readonly Value[];

/**
 * The effect of an operator on the rows: the values of its outputs. Throws `RowsMixed` where it mixes them or that is
 * unknown.
 */
export type Transfer = (call: OperatorCall) => OperatorOutput | readonly OperatorOutput[];

/** One node with what is known of its inputs. */
export class OperatorCall {
  readonly node: NodeProto;
  /** Of the node's domain. */
  readonly opset: number;
  /** Undefined where none was given, or a list. */
  readonly inputs: readonly (Value | undefined)[];
  /** Undefined where the input is not a list. */
  readonly sequences: readonly (SequenceValue | undefined)[];
  readonly symbols: Symbols;
  readonly runSubgraph: RunSubgraph;
  readonly #attributes: ReadonlyMap<string, AttributeValue>;

  constructor(
    node: NodeProto,
    attributes: ReadonlyMap<string, AttributeValue>,
    opset: number,
    inputs: readonly (Value | SequenceValue | undefined)[],
    symbols: Symbols,
    runSubgraph: RunSubgraph,
  ) {
    this.node = node;
    this.opset = opset;
    this.inputs = inputs.map((value) => (value?.kind === 'sequence' ? undefined : value));
    this.sequences = inputs.map((value) => (value?.kind === 'sequence' ? value : undefined));
    this.symbols = symbols;
    this.runSubgraph = runSubgraph;
    this.#attributes = attributes;
  }

  input(index: number): Value {
    const value = this.inputs[index];
    if (value === undefined) throw unknown(`input ${index} is missing`);
    return value;
  }

  sequence(index: number): SequenceValue {
    const value = this.sequences[index];
    if (value === undefined) throw unknown(`input ${index} is not a list of tensors`);
    return value;
  }

  /** All inputs that were given. */
  get given(): readonly Value[] {
    return this.inputs.filter((value) => value !== undefined);
  }

  has(name: string): boolean {
    return this.#attributes.has(name);
  }

  integer(name: string, fallback: number): number {
    const attribute = this.#attributes.get(name);
    if (attribute === undefined) return fallback;
    if (attribute.kind !== 'integer') throw unknown(`attribute ${name} is not an integer`);
    return attribute.value;
  }

  number(name: string, fallback: number): number {
    const attribute = this.#attributes.get(name);
    if (attribute === undefined) return fallback;
    if (attribute.kind !== 'float' && attribute.kind !== 'integer') throw unknown(`attribute ${name} is not a number`);
    return attribute.value;
  }

  integers(name: string): readonly number[] | undefined {
    const attribute = this.#attributes.get(name);
    if (attribute === undefined) return undefined;
    if (attribute.kind !== 'integers') throw unknown(`attribute ${name} is not a list of integers`);
    return attribute.value;
  }

  numbers(name: string): readonly number[] | undefined {
    const attribute = this.#attributes.get(name);
    if (attribute === undefined) return undefined;
    if (attribute.kind !== 'floats') throw unknown(`attribute ${name} is not a list of numbers`);
    return attribute.value;
  }

  text(name: string, fallback: string): string {
    const attribute = this.#attributes.get(name);
    if (attribute === undefined) return fallback;
    if (attribute.kind !== 'text') throw unknown(`attribute ${name} is not text`);
    return attribute.value;
  }

  graph(name: string): GraphProto {
    const attribute = this.#attributes.get(name);
    if (attribute?.kind !== 'graph') throw unknown(`attribute ${name} is not a graph`);
    return attribute.value;
  }

  attribute(name: string): AttributeValue | undefined {
    return this.#attributes.get(name);
  }
}
