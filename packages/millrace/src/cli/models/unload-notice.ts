/** What `millrace models unload` says before it waits: open streams keep their version until they end. */
import type { JsonObject } from '@millrace/protocol';

/** Streams that are asked for. */
export const waitedStreamsMax = 100;
const namedMax = 3;

/** `streams`: a page of the open streams of the model. Undefined: it has none. */
export function unloadNotice(model: string, { streams, next }: JsonObject): string | undefined {
  const ids = Array.isArray(streams) ? streams.flatMap((stream) => idOf(stream)) : [];
  if (ids.length === 0) return undefined;
  const count = next === undefined ? String(ids.length) : `${ids.length} or more`;
  const named = ids.slice(0, namedMax).join(', ') + (ids.length > namedMax ? ', …' : '');
  const what = ids.length === 1 ? '1 open stream' : `${count} open streams`;
  return (
    `waiting for ${what} of ${model} (${named}) to end, for streams.drainSecondsMax at most; ` +
    `millrace streams list --model ${model} --open shows them, millrace streams cancel ID ends one`
  );
}

function idOf(stream: JsonObject[string]): readonly string[] {
  const isObject = typeof stream === 'object' && stream !== null && 'id' in stream;
  return isObject && typeof stream.id === 'string' ? [stream.id] : [];
}
