import { type Route, takeParameterName, templateSegments } from './route.ts';

/** The routes of one path template, by method, and the names of its parameters in order. */
export interface PathRoutes {
  readonly path: string;
  readonly parameterNames: readonly string[];
  readonly byMethod: ReadonlyMap<string, Route>;
}

export interface PathMatch {
  readonly routes: PathRoutes;
  /** Raw segments in the order of `parameterNames`. */
  readonly values: readonly string[];
}

interface Node {
  readonly literals: Map<string, Node>;
  parameter: Node | undefined;
  routes: (PathRoutes & { readonly byMethod: Map<string, Route> }) | undefined;
}

function emptyNode(): Node {
  return { literals: new Map(), parameter: undefined, routes: undefined };
}

/**
 * A tree over path segments. A literal segment wins over a parameter, and the tree is walked back where the literal
 * does not match, so `/v2/models/stats` and `/v2/models/{model}/ready` can coexist.
 */
export class PathTree {
  readonly #root = emptyNode();

  /** Throws for two routes with the same method and path, which is a programming error. */
  add(route: Route): void {
    let node = this.#root;
    const parameterNames: string[] = [];
    for (const segment of templateSegments(route.path)) {
      const name = takeParameterName(segment);
      if (name === undefined) {
        const next = node.literals.get(segment) ?? emptyNode();
        node.literals.set(segment, next);
        node = next;
      } else {
        parameterNames.push(name);
        node.parameter ??= emptyNode();
        node = node.parameter;
      }
    }
    node.routes ??= { path: route.path, parameterNames, byMethod: new Map() };
    if (node.routes.byMethod.has(route.method) || node.routes.parameterNames.join() !== parameterNames.join()) {
      throw new Error(`${route.method} ${route.path} is declared twice, or under another name as ${node.routes.path}`);
    }
    node.routes.byMethod.set(route.method, route);
  }

  /** `path` as sent; one slash at its end is ignored. */
  take(path: string): PathMatch | undefined {
    if (!path.startsWith('/')) return undefined;
    const end = path.length > 1 && path.endsWith('/') ? path.length - 1 : path.length;
    const segments = path.slice(1, end).split('/');
    const values: string[] = [];
    const routes = walk(this.#root, segments, 0, values);
    return routes === undefined ? undefined : { routes, values };
  }
}

function walk(node: Node, segments: readonly string[], index: number, values: string[]): PathRoutes | undefined {
  const segment = segments[index];
  if (segment === undefined) return node.routes;
  const literal = node.literals.get(segment);
  if (literal !== undefined) {
    const found = walk(literal, segments, index + 1, values);
    if (found !== undefined) return found;
  }
  if (node.parameter === undefined || segment === '') return undefined;
  values.push(segment);
  const found = walk(node.parameter, segments, index + 1, values);
  if (found === undefined) values.pop();
  return found;
}
