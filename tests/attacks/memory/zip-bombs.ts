import { gzipSync } from 'node:zlib';
import type { Attack } from '../attack.ts';
import { doubleModel } from '../attack-models.ts';
import { oneAnswer, rawJsonRequest } from '../raw/http1.ts';
import { grpcFields, Http2Attacker } from '../raw/http2.ts';
import { envelope, inferMethod } from '../raw/infer-message.ts';
import { inferPath } from '../raw/requests.ts';
import type { Target } from '../target.ts';

const unpackedBytes = 250 * 1024 * 1024;

async function overGrpc(target: Target, bomb: Buffer): Promise<void> {
  const connection = await Http2Attacker.open(target, target.location.ports.grpc);
  if (connection === undefined) return target.sleep(100);
  const id = connection.open(grpcFields(target, inferMethod, [['grpc-encoding', 'gzip']]));
  const finished = connection.finished(id);
  await connection.body(id, envelope(bomb, true), true);
  await Promise.race([finished, target.sleep(20_000)]);
  target.hangUp(connection.socket);
}

export const zipBombs: Attack = {
  name: 'zip-bombs',
  row: 'Sixteen bodies of 250 KB at once, over REST and gRPC, unpack to 250 MiB each before any limit applies.',
  expected: 'refused',
  isSharedInShort: true,
  secondsMin: 8,
  run: async (target, pressure) => {
    const bomb = gzipSync(Buffer.alloc(unpackedBytes, '1'), { level: 9 });
    const request = rawJsonRequest(target, inferPath(doubleModel), bomb, { 'content-encoding': 'gzip' });
    await target.again(16 * pressure, async (loop) => {
      if (loop % 2 === 0) await oneAnswer(target, request);
      else await overGrpc(target, bomb);
    });
  },
};
