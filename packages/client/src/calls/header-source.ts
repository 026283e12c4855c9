/** Header fields as programs write them: an object, or anything that lists pairs, such as `Headers`; names in any case. */
export type WrittenHeaders = Readonly<Record<string, string>> | Iterable<readonly [name: string, value: string]>;

type HeaderPairList = readonly (readonly [name: string, value: string])[];

/** Asked before each attempt and connection. */
export type HeaderSource = () => HeaderPairList | Promise<HeaderPairList>;

/** A function is asked each time, and may have none to give. */
export function headerSourceFrom(
  written: WrittenHeaders | (() => WrittenHeaders | undefined | Promise<WrittenHeaders | undefined>) | undefined,
): HeaderSource | undefined {
  if (written === undefined) return undefined;
  return () => {
    const given = typeof written === 'function' ? written() : written;
    return given instanceof Promise ? given.then(listFrom) : listFrom(given);
  };
}

const noHeaders: HeaderPairList = [];

/** Hands on what the source gives, at once where it gives no promise, and whatever it or `use` throws. */
export function withHeaders(
  source: HeaderSource | undefined,
  use: (list: HeaderPairList) => void,
  onError: (error: unknown) => void,
): void {
  try {
    const given = source === undefined ? noHeaders : source();
    if (given instanceof Promise) given.then(use).catch(onError);
    else use(given);
  } catch (error) {
    onError(error);
  }
}

function listFrom(written: WrittenHeaders | undefined): HeaderPairList {
  const fields = written ?? {};
  const pairs = Symbol.iterator in fields ? [...fields] : Object.entries(fields);
  return pairs.map(([name, value]) => [name.toLowerCase(), value]);
}
