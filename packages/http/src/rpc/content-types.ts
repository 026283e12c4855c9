/** Maps content types to protocol and codec. */
import { ConnectStreamDialect } from './connect-stream-dialect.ts';
import { ConnectUnaryDialect } from './connect-unary-dialect.ts';
import type { Dialect } from './dialect.ts';
import { GrpcDialect } from './grpc-dialect.ts';
import { GrpcWebDialect } from './grpc-web-dialect.ts';

const dialects = new Map<string, Dialect>();
for (const codec of ['proto', 'json'] as const) {
  const grpc = `application/grpc+${codec}`;
  const web = `application/grpc-web+${codec}`;
  const text = `application/grpc-web-text+${codec}`;
  const stream = `application/connect+${codec}`;
  dialects.set(grpc, new GrpcDialect(grpc, codec));
  dialects.set(web, new GrpcWebDialect(web, codec, false));
  dialects.set(text, new GrpcWebDialect(text, codec, true));
  dialects.set(stream, new ConnectStreamDialect(stream, codec));
}
dialects.set('application/grpc', new GrpcDialect('application/grpc', 'proto'));
dialects.set('application/grpc-web', new GrpcWebDialect('application/grpc-web+proto', 'proto', false));
dialects.set('application/grpc-web-text', new GrpcWebDialect('application/grpc-web-text+proto', 'proto', true));

const unaryDialects = new Map<string, Dialect>([
  ['application/proto', new ConnectUnaryDialect('proto')],
  ['application/json', new ConnectUnaryDialect('json')],
]);

/** The last content type that belonged to no call: other requests to a port mostly share one type. */
let otherType = '';

/** The dialect of a content type that only RPC calls have. */
export function dialectOf(contentType: string): Dialect | undefined {
  if (contentType === otherType) return undefined;
  const dialect = dialects.get(contentType) ?? dialects.get(withoutParameters(contentType));
  if (dialect === undefined) otherType = contentType;
  return dialect;
}

/** The dialect of a content type that Connect shares with others. */
export function connectUnaryPosts(contentType: string): Dialect | undefined {
  return unaryDialects.get(contentType) ?? unaryDialects.get(withoutParameters(contentType));
}

export function isGrpcType(contentType: string): boolean {
  return contentType.startsWith('application/grpc') && /^application\/grpc\b/.test(contentType);
}

/** The content types that a method accepts. */
export function contentTypesFor(kind: string): string {
  const types = [...dialects.keys()].filter((type) => kind !== 'unary' || !type.startsWith('application/connect'));
  return [...(kind === 'unary' ? unaryDialects.keys() : []), ...types].join(', ');
}

function withoutParameters(contentType: string): string {
  const end = contentType.indexOf(';');
  return (end < 0 ? contentType : contentType.slice(0, end)).trim().toLowerCase();
}
