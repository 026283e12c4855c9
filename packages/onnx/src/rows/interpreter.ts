/** Tracks the rows of a batch through a graph, node by node. */
import {
  type AttributeValue,
  type FunctionProto,
  functionKey,
  type GraphProto,
  type ModelProto,
  type NodeProto,
} from '../model/model-proto.ts';
import { OperatorCall } from './call.ts';
import { storedValue } from './operators/generators.ts';
import { takesSequences, transferOf } from './operators/operator-table.ts';
import { Symbols } from './symbols.ts';
import {
  type MixedValue,
  type OperatorOutput,
  plain,
  RowsMixed,
  type SequenceValue,
  unknown,
  type Value,
} from './value.ts';

export interface AnalysisLimits {
  /** Nodes visited; those of loops and functions count each time. */
  readonly stepsMax: number;
  /** Depth of functions and subgraphs inside each other. */
  readonly depthMax: number;
}

export const analysisLimits: AnalysisLimits = Object.freeze({ stepsMax: 500_000, depthMax: 32 });

/** Where it ended: the node, as an operator would search for it. */
export class NodeMixed extends Error {
  readonly node: string;
  readonly isCertain: boolean;

  constructor(node: string, { isCertain, message }: { readonly isCertain: boolean; readonly message: string }) {
    super(message);
    this.name = 'NodeMixed';
    this.node = node;
    this.isCertain = isCertain;
  }
}

/** A value that nothing may use, and the node that made it. */
interface Spoiled {
  readonly spoiledBy: string;
  readonly value: MixedValue;
}

/** Names in scope: those of a graph, and of the graphs around it. */
interface Scope {
  readonly values: Map<string, Value | SequenceValue | Spoiled>;
  readonly outer: Scope | undefined;
  readonly opsets: ReadonlyMap<string, number>;
  /** Attributes of the node that called this function body; undefined: it is not a function body. */
  readonly attributes: ReadonlyMap<string, AttributeValue> | undefined;
  readonly depth: number;
}

export class Interpreter {
  readonly symbols = new Symbols();
  readonly #model: ModelProto;
  readonly #limits: AnalysisLimits;
  #steps = 0;

  constructor(model: ModelProto, limits: AnalysisLimits = analysisLimits) {
    this.#model = model;
    this.#limits = limits;
  }

  /** The values of the graph's outputs. Throws `NodeMixed`. */
  run(inputs: ReadonlyMap<string, Value>): readonly Value[] {
    const scope: Scope = {
      values: new Map(inputs),
      outer: undefined,
      opsets: this.#model.opsets,
      attributes: undefined,
      depth: 1,
    };
    return this.#runGraph(this.#model.graph, scope);
  }

  #runGraph(graph: GraphProto, scope: Scope): readonly Value[] {
    for (const [name, tensor] of graph.initializers)
      if (!scope.values.has(name)) scope.values.set(name, storedValue(tensor));
    for (const node of graph.nodes) this.#runNode(node, scope);
    return graph.outputs.map(({ name }) => {
      const value = this.#mustFind(name, scope);
      if (value.kind === 'sequence') throw unknown(`output ${JSON.stringify(name)} is a list of tensors`);
      return value;
    });
  }

  #runNode(node: NodeProto, scope: Scope): void {
    this.#steps += 1;
    const label = labelOf(node);
    try {
      if (this.#steps > this.#limits.stepsMax)
        throw unknown(`the graph takes more than ${this.#limits.stepsMax} steps`);
      const inputs = node.inputs.map((name) => (name === '' ? undefined : this.#mustFind(name, scope)));
      const results = this.#resultsOf(node, inputs, scope);
      for (const [index, name] of node.outputs.entries()) {
        if (name === '') continue;
        const value = results[index];
        if (value === undefined) throw unknown(`nothing is known of output ${index}`);
        scope.values.set(name, value.kind === 'mixed' ? { spoiledBy: label, value } : value);
      }
    } catch (error) {
      if (error instanceof RowsMixed) throw new NodeMixed(label, error);
      throw error;
    }
  }

  #resultsOf(
    node: NodeProto,
    inputs: readonly (Value | SequenceValue | undefined)[],
    scope: Scope,
  ): readonly OperatorOutput[] {
    const attributes = resolved(node.attributes, scope);
    const body = this.#model.functions.get(functionKey(node.domain, node.operator));
    if (body !== undefined && isBuiltIn(node.domain))
      throw unknown(`${node.operator} is an operator and a function of the file`);
    if (body !== undefined) return this.#runFunction(body, attributes, inputs, scope);
    const transfer = transferOf(node.domain, node.operator);
    const name = node.domain === '' ? node.operator : `${node.domain}.${node.operator}`;
    if (transfer === undefined) throw unknown(`the operator ${name} is not known`);
    if (inputs.some((value) => value?.kind === 'sequence') && !takesSequences(node)) {
      throw unknown(`${name} takes a list of tensors`);
    }
    const opset = scope.opsets.get(node.domain);
    if (opset === undefined) throw unknown(`the file does not say which operator set ${name} is of`);
    const call = new OperatorCall(node, attributes, opset, inputs, this.symbols, (graph, values) =>
      this.#runSubgraph(graph, values, scope),
    );
    try {
      const result = transfer(call);
      return 'kind' in result ? [result] : result;
    } catch (error) {
      // A result computed only from values that do not depend on the rows does not depend on them either, whatever its
      // shape.
      if (error instanceof RowsMixed && !error.isCertain && isComputedAlike(node, inputs))
        return node.outputs.map(() => plain(undefined));
      throw error;
    }
  }

  #runSubgraph(graph: GraphProto, inputs: readonly Value[], outer: Scope): readonly Value[] {
    this.#mustNotBeTooDeep(outer);
    const values = new Map<string, Value>();
    for (const [index, { name }] of graph.inputs.entries()) {
      const value = inputs[index];
      if (value === undefined) throw unknown('a subgraph has more inputs than it is given');
      values.set(name, value);
    }
    return this.#runGraph(graph, { ...outer, values, outer, depth: outer.depth + 1 });
  }

  #runFunction(
    body: FunctionProto,
    attributes: ReadonlyMap<string, AttributeValue>,
    inputs: readonly (Value | SequenceValue | undefined)[],
    caller: Scope,
  ): readonly OperatorOutput[] {
    this.#mustNotBeTooDeep(caller);
    const values = new Map<string, Value | SequenceValue>();
    for (const [index, name] of body.inputs.entries()) {
      const value = inputs[index];
      if (value !== undefined) values.set(name, value);
    }
    const scope: Scope = {
      values,
      outer: undefined,
      opsets: body.opsets,
      attributes: new Map([...body.defaults, ...attributes]),
      depth: caller.depth + 1,
    };
    for (const node of body.nodes) this.#runBodyNode(withoutMissing(node, body, values), scope);
    return body.outputs.map((name) => {
      const found = scope.values.get(name);
      if (found === undefined) throw unknown(`the function does not compute ${JSON.stringify(name)}`);
      return 'spoiledBy' in found ? found.value : found;
    });
  }

  /** A call may not use all outputs of a function, so that rows mixed in it need not be mixed in the result. */
  #runBodyNode(node: NodeProto, scope: Scope): void {
    try {
      this.#runNode(node, scope);
    } catch (error) {
      throw error instanceof NodeMixed
        ? new NodeMixed(error.node, { isCertain: false, message: error.message })
        : error;
    }
  }

  #mustNotBeTooDeep({ depth }: Scope): void {
    if (depth >= this.#limits.depthMax)
      throw unknown(`functions and subgraphs are more than ${this.#limits.depthMax} deep`);
  }

  #mustFind(name: string, scope: Scope): Value | SequenceValue {
    for (let at: Scope | undefined = scope; at !== undefined; at = at.outer) {
      const found = at.values.get(name);
      if (found === undefined) continue;
      if ('spoiledBy' in found)
        throw new NodeMixed(found.spoiledBy, { isCertain: found.value.isCertain, message: found.value.reason });
      return found;
    }
    throw unknown(`nothing computes ${JSON.stringify(name)}`);
  }
}

const drawing = /^(Random|Bernoulli|Multinomial|If$|Loop$|Scan$|Dropout$)/;

function isComputedAlike({ operator }: NodeProto, inputs: readonly (Value | SequenceValue | undefined)[]): boolean {
  return !drawing.test(operator) && inputs.every((value) => value === undefined || value.kind === 'plain');
}

function resolved(attributes: ReadonlyMap<string, AttributeValue>, scope: Scope): ReadonlyMap<string, AttributeValue> {
  const entries = [...attributes].flatMap(([name, value]): [string, AttributeValue][] => {
    if (value.kind !== 'reference') return [[name, value]];
    if (scope.attributes === undefined) throw unknown(`attribute ${name} refers to a caller, and there is none`);
    const referred = scope.attributes.get(value.value);
    return referred === undefined ? [] : [[name, referred]];
  });
  return new Map(entries);
}

/** Operators of these domains belong to the engine, whatever functions a file has. */
function isBuiltIn(domain: string): boolean {
  return domain === '' || domain === 'ai.onnx.ml' || domain === 'com.microsoft';
}

/** Inputs of a function that its call omits are omitted from its nodes too. */
function withoutMissing(node: NodeProto, body: FunctionProto, values: ReadonlyMap<string, unknown>): NodeProto {
  const isMissing = (name: string): boolean => body.inputs.includes(name) && !values.has(name);
  return node.inputs.some(isMissing)
    ? { ...node, inputs: node.inputs.map((name) => (isMissing(name) ? '' : name)) }
    : node;
}

function labelOf({ name, operator, outputs }: NodeProto): string {
  return name === '' ? `${operator} (output ${JSON.stringify(outputs[0] ?? '')})` : `${name} (${operator})`;
}
