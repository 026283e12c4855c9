/** What a page loads that uses `infer` and `stream`, bundled as bundlers do. */
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { expect, test } from 'vitest';

const gzipBytesMax = 25_000;

async function bundleOf(program: string) {
  const { outputFiles, metafile } = await build({
    stdin: { contents: program, resolveDir: import.meta.dirname },
    bundle: true,
    minify: true,
    format: 'esm',
    // Modules of Node do not resolve then, and the build fails.
    platform: 'browser',
    write: false,
    metafile: true,
    logLevel: 'silent',
  });
  const [output] = Object.values(metafile.outputs);
  const included = Object.entries(output?.inputs ?? {}).filter(([, { bytesInOutput }]) => bytesInOutput > 0);
  return { bytes: outputFiles[0]?.contents ?? new Uint8Array(), files: included.map(([file]) => file) };
}

test('infer and stream take at most 25 KB, and nothing of Node', async () => {
  const { bytes, files } = await bundleOf(`
    import { createClient } from '@millrace/client';
    const client = createClient(location.origin);
    globalThis.infer = (inputs) => client.infer('model', inputs);
    globalThis.listen = async (input) => {
      const stream = client.stream('model');
      await stream.sendLast(input);
      for await (const output of stream) console.log(output);
    };
  `);
  const size = gzipSync(bytes, { level: 9 }).length;
  expect(size).toBeGreaterThan(5000);
  expect(size).toBeLessThanOrEqual(gzipBytesMax);
  expect(files.filter((file) => /packages\/http2|transports\/grpc|node_modules\/(?!@millrace)/.test(file))).toEqual([]);
});

test('a program that only reads errors takes little of it: the rest is dropped', async () => {
  const { bytes } = await bundleOf(
    `import { MillraceError } from '@millrace/client'; globalThis.error = MillraceError;`,
  );
  expect(gzipSync(bytes, { level: 9 }).length).toBeLessThan(4000);
});
