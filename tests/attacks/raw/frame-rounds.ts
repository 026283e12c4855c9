/** Many frames at once. */
export { data } from '@millrace/http2/testing';

export const repeatFrames = (count: number, make: (at: number) => Buffer): Buffer =>
  Buffer.concat(Array.from({ length: count }, (_, at) => make(at)));
