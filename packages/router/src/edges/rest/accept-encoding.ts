export type Coding = 'gzip' | 'deflate' | 'identity';

/**
 * The coding that a client prefers of those supported. Ties go to gzip, then deflate: a client that names a coding wants
 * it used. Without the field, or when every supported coding is refused, the answer is not compressed.
 */
export function chooseCoding(acceptEncoding: string | undefined): Coding {
  if (acceptEncoding === undefined) return 'identity';
  const weights = weightsFrom(acceptEncoding);
  const any = weights.get('*') ?? 0;
  const gzip = weights.get('gzip') ?? weights.get('x-gzip') ?? any;
  const deflate = weights.get('deflate') ?? any;
  // Identity is acceptable when it is not named, but never preferred to a named coding.
  const identity = weights.get('identity') ?? 0;
  const best = Math.max(gzip, deflate);
  if (best <= 0 || identity > best) return 'identity';
  return gzip >= deflate ? 'gzip' : 'deflate';
}

function weightsFrom(acceptEncoding: string): Map<string, number> {
  const weights = new Map<string, number>();
  for (const item of acceptEncoding.split(',')) {
    const [name = '', ...parameters] = item.split(';');
    weights.set(name.trim().toLowerCase(), weightFrom(parameters));
  }
  return weights;
}

function weightFrom(parameters: readonly string[]): number {
  for (const parameter of parameters) {
    const match = /^\s*q\s*=\s*([01](?:\.[0-9]{0,3})?)\s*$/i.exec(parameter);
    if (match !== null) return Math.min(Number(match[1]), 1);
    // A coding with an invalid weight is ignored.
    if (/^\s*q\s*=/i.test(parameter)) return 0;
  }
  return 1;
}
