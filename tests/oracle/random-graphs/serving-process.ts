/** The process that serves chunks: one message in with an order, one out with the results. ONNX Runtime may end it. */
import { type ChunkOrder, serveChunk } from './serve-chunk.ts';

process.on('message', (order: ChunkOrder) => {
  void serveChunk(order).then(
    (results) => process.send?.({ results }),
    (error: unknown) => process.send?.({ error: error instanceof Error ? error.stack : String(error) }),
  );
});
