/** The OpenAPI 3.1 document of a list of routes, made from nothing but their declarations. */
import { z } from 'zod';
import { type BodyDeclaration, type Route, takeParameterName, templateSegments } from './route.ts';

export interface OpenApiInfo {
  readonly title: string;
  readonly version: string;
  readonly description?: string;
}

type Schema = Readonly<Record<string, unknown>>;

export interface OpenApiDocument {
  readonly openapi: '3.1.0';
  readonly jsonSchemaDialect: string;
  readonly info: OpenApiInfo;
  readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

/** Schemas with an `id` in their metadata become components, the others are inlined. */
export function openApiDocument(info: OpenApiInfo, routes: readonly Route[]): OpenApiDocument {
  const named = new NamedSchemas();
  const paths: Record<string, Record<string, unknown>> = {};
  for (const route of routes) {
    const path = paths[route.path] ?? {};
    paths[route.path] = path;
    path[route.method.toLowerCase()] = operationFrom(route, named);
  }
  return {
    openapi: '3.1.0',
    jsonSchemaDialect: 'https://json-schema.org/draft/2020-12/schema',
    info,
    paths,
    components: { schemas: named.components },
  };
}

/** A route that serves the document of the given routes and of itself. */
export function openApiRoute(info: OpenApiInfo, routes: readonly Route[]): Route {
  let body: Uint8Array | undefined;
  const route: Route = {
    method: 'GET',
    path: '/openapi.json',
    operationId: 'openApiDocument',
    summary: 'This document',
    responses: { 200: { description: 'The OpenAPI 3.1 document', content: { 'application/json': z.looseObject({}) } } },
    handler: () => {
      // Made when it is first asked for: it takes tens of milliseconds, and clients wait for a router that starts again.
      body ??= new TextEncoder().encode(JSON.stringify(openApiDocument(info, [...routes, route])));
      return { status: 200, headers: [['content-type', 'application/json']], body };
    },
  };
  return route;
}

function operationFrom(route: Route, named: NamedSchemas): Schema {
  const parameters = [
    ...pathParametersFrom(route, named),
    ...queryParametersFrom(route, named),
    ...headerParametersFrom(route, named),
  ];
  return {
    operationId: route.operationId,
    summary: route.summary,
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(route.request === undefined ? {} : { requestBody: { required: true, ...bodyFrom(route.request, named) } }),
    responses: Object.fromEntries(
      Object.entries(route.responses).map(([status, body]) => [status, bodyFrom(body, named)]),
    ),
  };
}

function pathParametersFrom(route: Route, named: NamedSchemas): Schema[] {
  return templateSegments(route.path)
    .map(takeParameterName)
    .filter((name) => name !== undefined)
    .map((name) => {
      const schema = route.parameters?.[name];
      return {
        name,
        in: 'path',
        required: true,
        schema: schema === undefined ? { type: 'string' } : named.schemaFrom(schema),
      };
    });
}

function queryParametersFrom(route: Route, named: NamedSchemas): Schema[] {
  if (route.query === undefined) return [];
  const { properties = {}, required = [] } = named.schemaFrom(route.query) as {
    properties?: Record<string, Schema>;
    required?: readonly string[];
  };
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    in: 'query',
    required: required.includes(name),
    schema,
  }));
}

function headerParametersFrom(route: Route, named: NamedSchemas): Schema[] {
  return Object.entries(route.headers ?? {}).map(([name, schema]) => ({
    name,
    in: 'header',
    required: false,
    schema: named.schemaFrom(schema),
  }));
}

function bodyFrom(body: BodyDeclaration, named: NamedSchemas): Schema {
  if (body.content === undefined) return { description: body.description };
  const content = Object.entries(body.content).map(([mediaType, schema]) => [
    mediaType,
    { schema: schema === undefined ? { type: 'string', format: 'binary' } : named.schemaFrom(schema) },
  ]);
  return { description: body.description, content: Object.fromEntries(content) };
}

/** zod gathers schemas with an id under `$defs` of each schema that uses them; OpenAPI wants them in one list. */
class NamedSchemas {
  readonly components: Record<string, Schema> = {};
  /** Most routes have the same bodies, those of errors above all. */
  readonly #converted = new Map<z.ZodType, Schema>();

  schemaFrom(schema: z.ZodType): Schema {
    const known = this.#converted.get(schema);
    if (known !== undefined) return known;
    const converted = this.#convert(schema);
    this.#converted.set(schema, converted);
    return converted;
  }

  #convert(schema: z.ZodType): Schema {
    const { $schema: _, $defs = {}, ...own } = z.toJSONSchema(schema, { io: 'input', reused: 'inline' });
    for (const [id, definition] of Object.entries($defs)) {
      const { id: __, ...component } = definition;
      this.components[id] ??= withComponentReferences(component) as Schema;
    }
    return withComponentReferences(own) as Schema;
  }
}

function withComponentReferences(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withComponentReferences);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, entry]) => [
      key,
      key === '$ref' ? String(entry).replace('#/$defs/', '#/components/schemas/') : withComponentReferences(entry),
    ]),
  );
}
