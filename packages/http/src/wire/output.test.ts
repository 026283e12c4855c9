import fc from 'fast-check';
import { expect, test } from 'vitest';
import { copiedBytesMax, Output, OutputArena } from './output.ts';
import { MemoryTransport } from './testing/memory-transport.ts';

test('several outputs that write into one arena in turn each send their bytes complete and in order', () => {
  const step = fc.record({
    who: fc.integer({ min: 0, max: 2 }),
    bytes: fc.oneof(fc.integer({ min: 0, max: 50 }), fc.integer({ min: 4000, max: 30_000 })),
    isAppended: fc.boolean(),
    isFlushed: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const arena = new OutputArena();
      const transports = [new MemoryTransport(), new MemoryTransport(), new MemoryTransport()];
      const outputs = transports.map((transport) => new Output(arena, transport));
      const wanted: Buffer[][] = [[], [], []];
      let value = 0;
      for (const { who, bytes, isAppended, isFlushed } of steps) {
        const output = outputs[who] as Output;
        const piece = Buffer.alloc(bytes, ++value & 255);
        if (isAppended) expect(output.append(piece)).toBe(bytes <= copiedBytesMax);
        else {
          const offset = output.reserve(bytes + 10);
          piece.copy(output.bytes, offset);
          output.trim(offset + bytes);
        }
        wanted[who]?.push(piece);
        if (isFlushed) output.flush();
      }
      for (const [who, output] of outputs.entries()) {
        output.flush();
        expect(output.gatheredBytes).toBe(0);
        expect(
          Buffer.compare((transports[who] as MemoryTransport).take(), Buffer.concat(wanted[who] as Buffer[])),
        ).toBe(0);
      }
    }),
    { seed: 20, numRuns: 100 },
  );
});

test('bytes handed over stay as they were while the arena goes on', () => {
  const arena = new OutputArena();
  const kept: Uint8Array[] = [];
  const transport = new MemoryTransport();
  transport.write = (pieces) => kept.push(...pieces);
  const output = new Output(arena, transport);
  output.append(Buffer.from('first'));
  output.flush();
  for (let at = 0; at < 100; at++) output.append(Buffer.alloc(4000, 'x'));
  output.flush();
  expect(Buffer.from(kept[0] as Uint8Array).toString()).toBe('first');
});

test('a callback waits for everything before it, also for what was flushed earlier, and comes once', () => {
  const transport = new MemoryTransport();
  const output = new Output(new OutputArena(), transport);
  let taken = 0;
  transport.isStuck = true;
  output.append(Buffer.alloc(10_000));
  output.flush();
  output.whenTaken(() => taken++);
  output.flush();
  expect(taken).toBe(0);
  transport.unstick();
  output.flush();
  expect(taken).toBe(1);
});

test('discarded output is released, and not sent', () => {
  const transport = new MemoryTransport();
  const output = new Output(new OutputArena(), transport);
  let taken = 0;
  output.append(Buffer.alloc(10_000));
  output.whenTaken(() => taken++);
  output.discard();
  output.flush();
  expect([taken, transport.sentBytes]).toEqual([1, 0]);
});

test('an idle output keeps no arena alive', () => {
  const output = new Output(new OutputArena(), new MemoryTransport());
  output.append(Buffer.from('x'));
  output.flush();
  expect(output.bytes.length).toBe(0);
});
