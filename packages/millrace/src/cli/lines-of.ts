/** Lines of UTF-8 as they arrive, without their ends; the last one needs none. A longer line than `bytesMax` is an error. */
export async function* linesOf(bytes: AsyncIterable<Uint8Array>, bytesMax: number): AsyncGenerator<string> {
  let pieces: Uint8Array[] = [];
  let length = 0;
  const take = (): string => {
    const text = Buffer.concat(pieces).toString('utf8');
    pieces = [];
    length = 0;
    return text.endsWith('\r') ? text.slice(0, -1) : text;
  };
  for await (const chunk of bytes) {
    let start = 0;
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, start)) {
      pieces.push(chunk.subarray(start, end));
      length += end - start;
      if (length > bytesMax) throw new RangeError(`a line has more than ${bytesMax} bytes`);
      yield take();
      start = end + 1;
    }
    const rest = chunk.subarray(start);
    length += rest.length;
    if (length > bytesMax) throw new RangeError(`a line has more than ${bytesMax} bytes`);
    if (rest.length > 0) pieces.push(rest);
  }
  if (length > 0) yield take();
}
