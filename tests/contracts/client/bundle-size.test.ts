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

/** A page that uses `infer` and `stream`, over the transport of its choice. */
const pageWith = (imports: string, options: string): string => `
  import { createClient${imports} } from '@millrace/client';
  const client = createClient(location.origin, ${options});
  globalThis.infer = (inputs) => client.infer('model', inputs);
  globalThis.listen = async (input) => {
    const stream = client.stream('model');
    await stream.sendLast(input);
    for await (const output of stream) console.log(output);
  };
`;

test('infer and stream take at most 25 KB, and nothing of Node', async () => {
  const { bytes, files } = await bundleOf(pageWith('', '{}'));
  const size = gzipSync(bytes, { level: 9 }).length;
  expect(size).toBeGreaterThan(5000);
  expect(size).toBeLessThanOrEqual(gzipBytesMax);
  expect(
    files.filter((file) =>
      /packages\/http2|transports\/grpc|client\/(src|dist)\/(audio|management)|node_modules\/(?!@millrace)/.test(file),
    ),
  ).toEqual([]);
});

/** Files that only one transport needs. */
const ownFiles = ['events/event-links', 'web-rpc/grpc-web-caller', 'rpc/infer-messages'];

test.each([
  { transport: '', own: [] },
  { transport: 'eventTransport', own: ['events/event-links'] },
  { transport: 'connectTransport', own: ['rpc/infer-messages'] },
  { transport: 'grpcWebTransport', own: ['web-rpc/grpc-web-caller', 'rpc/infer-messages'] },
])('a page that imports the transport "$transport" loads $own and no other transport', async ({ transport, own }) => {
  const options = transport === '' ? '{}' : `{ transport: ${transport}() }`;
  const { bytes, files } = await bundleOf(pageWith(transport === '' ? '' : `, ${transport}`, options));
  expect(ownFiles.filter((name) => files.some((file) => file.includes(`/transports/${name}.`)))).toEqual(own);
  expect(gzipSync(bytes, { level: 9 }).length).toBeLessThanOrEqual(gzipBytesMax);
});

test('a program that only reads errors takes little of it: the rest is dropped', async () => {
  const { bytes } = await bundleOf(
    `import { MillraceError } from '@millrace/client'; globalThis.error = MillraceError;`,
  );
  expect(gzipSync(bytes, { level: 9 }).length).toBeLessThan(4000);
});

test('sound and management are entry points of their own, and take little', async () => {
  for (const [entry, name, bytesMax] of [
    ['audio', 'microphoneChunks', 2500],
    ['management', 'createManagement', 6000],
  ] as const) {
    const { bytes, files } = await bundleOf(
      `import { ${name} } from '@millrace/client/${entry}'; globalThis.given = ${name};`,
    );
    const size = gzipSync(bytes, { level: 9 }).length;
    expect(size, entry).toBeGreaterThan(500);
    expect(size, entry).toBeLessThan(bytesMax);
    expect(files.filter((file) => file.includes('/session/'))).toEqual([]);
  }
});
