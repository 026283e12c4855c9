/** Holds docs/reference/dispatch.md to the code: numbers, limits and offsets, and that its examples say what it says they do. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  type BatchTensor,
  contentFilesMax,
  DispatchFrameReader,
  decodeFromWorker,
  decodeToWorker,
  dispatchVersions,
  engineNames,
  errorCatalogue,
  type FrameFromWorker,
  type FrameToWorker,
  FrameWriter,
  failureTextBytesMax,
  frameBytesMaxDefault,
  frameBytesMaxLeast,
  frameKinds,
  frameMagic,
  loadedDigestsMax,
  placementShared,
  releaseOffsetsMax,
  type Tensor,
  VersionMismatch,
  workerIdCharactersMax,
} from '@millrace/protocol';
import { inFrameBytesMax } from '@millrace/shared-memory';
import { describe, expect, test } from 'vitest';
import { root } from './source-files.ts';

const page = readFileSync(join(root, 'docs/reference/dispatch.md'), 'utf8');

/** The text below a heading, up to the next one of its level or above. */
function section(heading: string): string {
  const level = /^#+/.exec(heading)?.[0].length ?? 0;
  const rest = page.split(`\n${heading}\n`)[1];
  if (rest === undefined) throw new Error(`the page has no section "${heading}"`);
  return rest.split(new RegExp(`^#{1,${level}} `, 'm'))[0] as string;
}

/** The cells of the lines of all tables, without their heads. */
function rowsIn(text: string): readonly (readonly string[])[] {
  return text
    .split('\n')
    .filter((line, index, lines) => line.startsWith('| ') && !lines[index + 1]?.startsWith('|---'))
    .map((line) => line.slice(1, -1).split(/(?<!\\)\|/))
    .map((cells) => cells.map((cell) => cell.trim()));
}

test('the page lists the engines; another name takes a new version', () => {
  const listed = rowsIn(section('### 2 load')).find(([key]) => key === '`engine`')?.[1] ?? '';
  expect({
    engines: [...listed.matchAll(/`(\w+)`/g)].map(([, name]) => name),
    newest: dispatchVersions.newest,
  }).toEqual({
    engines: [...engineNames],
    newest: 5,
  });
});

const kindRows = rowsIn(section('### Kinds')).map(([number, name, to]) => ({
  number: Number(number),
  kind: name?.replaceAll('`', '') as keyof typeof frameKinds,
  to,
}));
const kinds = kindRows.filter(({ kind }) => Object.hasOwn(frameKinds, kind));

/** Of a region in shared memory. */
interface RegionLocation {
  readonly offset: number;
  readonly bytes: number;
}

interface Example {
  readonly kind: string;
  readonly to: string | undefined;
  readonly bytes: Uint8Array;
  readonly says: unknown;
}

function examplesOf({ number, kind, to }: (typeof kindRows)[number]): readonly Example[] {
  const blocks = section(`### ${number} ${kind}`).matchAll(/```hex\n([\s\S]*?)```\s*```json\n([\s\S]*?)```/g);
  return [...blocks].map(([, hexadecimal, json]) => {
    const bytes = (hexadecimal as string).replaceAll(/#.*$/gm, '').replaceAll(/\s/g, '');
    return { kind, to, bytes: Uint8Array.from(Buffer.from(bytes, 'hex')), says: JSON.parse(json as string) };
  });
}

const examples = kinds.flatMap(examplesOf);

describe('numbers', () => {
  test('the page describes the newest version that is spoken', () => {
    expect(page).toContain(`this page describes version ${dispatchVersions.newest};`);
    expect(page).toContain(new VersionMismatch(dispatchVersions, { oldest: 9, newest: 9 }).message);
  });

  test('every kind of message has its number and its section, and nothing else has', () => {
    expect(Object.fromEntries(kinds.map(({ kind, number }) => [kind, number]))).toEqual(frameKinds);
    expect(kinds).toEqual(kindRows);
    expect(new Set(kindRows.map(({ number }) => number)).size).toBe(kindRows.length);
  });

  test('every error has its number', () => {
    const table = /\| number \| code \|\n\|---\|---\|\n((?:\|.*\n)+)/.exec(section('## Errors'))?.[1] ?? '';
    const numbers = rowsIn(table).map(([number, code]) => [code?.replaceAll('`', ''), Number(number)]);
    expect(Object.fromEntries(numbers)).toEqual(
      Object.fromEntries(Object.entries(errorCatalogue).map(([code, { number }]) => [code, number])),
    );
  });

  test('the numbers of errors in the text are those of the codes beside them', () => {
    const mentions = [...page.matchAll(/`([a-z-]+)` \((\d+)\)/g)];
    expect(mentions.length).toBeGreaterThan(3);
    for (const [, code, number] of mentions) {
      expect(errorCatalogue[code as keyof typeof errorCatalogue].number, code).toBe(Number(number));
    }
  });

  test('the limits are those of the code', () => {
    expect(rowsIn(section('## Limits')).map(([, value]) => Number(value))).toEqual([
      frameMagic,
      frameBytesMaxLeast,
      frameBytesMaxDefault,
      failureTextBytesMax,
      releaseOffsetsMax,
      inFrameBytesMax,
      workerIdCharactersMax,
      loadedDigestsMax,
      contentFilesMax,
    ]);
  });

  test('every key that a load may have is described', () => {
    const source = readFileSync(join(root, 'packages/protocol/src/dispatch/load-spec.ts'), 'utf8');
    const keys = new Set(
      [...source.matchAll(/(?<![\w-])(?:spec|content|file|location|sample|input|fill)\.(\w+)/g)].map(
        ([, key]) => key as string,
      ),
    );
    expect(keys.size).toBeGreaterThan(20);
    const text = section('### 2 load');
    expect([...keys].filter((key) => !text.includes(`\`${key}\``) && !text.includes(`"${key}"`))).toEqual([]);
  });
});

describe('layouts', () => {
  const widths: Readonly<Record<string, number>> = { u8: 1, u16: 2, u32: 4, u64: 8, f64: 8 };

  test.each(kinds.filter(({ kind }) => kind !== 'stop'))(
    'the fields of $kind follow one another',
    ({ number, kind }) => {
      const [table] = section(`### ${number} ${kind}`).split('\n\n', 1) as [string];
      let next = 8;
      for (const [offset, type] of rowsIn(table)) {
        if (offset === '…') continue;
        expect(Number(offset)).toBe(next);
        next += widths[type as string] ?? Number.NaN;
      }
      expect(next).not.toBe(8);
    },
  );
});

describe('examples', () => {
  test('there is one of every kind', () => {
    expect(new Set(examples.map(({ bytes }) => bytes[4]))).toEqual(new Set(Object.values(frameKinds)));
    for (const { kind, bytes } of examples) expect(bytes[4]).toBe(frameKinds[kind as keyof typeof frameKinds]);
  });

  test.each(examples)('$kind: the bytes say what stands below them', ({ to, bytes, says }) => {
    const decode = to === 'router' ? decodeFromWorker : decodeToWorker;
    const locations: RegionLocation[] = [];
    const frames: (FrameToWorker | FrameFromWorker)[] = [];
    new DispatchFrameReader((frame) => {
      const message = decode(frame, (offset, length) => {
        locations.push({ offset, bytes: length });
        return { bytes: new Uint8Array(length), release: () => {} };
      });
      frames.push(message);
    }).push(bytes);
    const [frame] = frames as [FrameToWorker | FrameFromWorker];
    expect(frames.length).toBe(1);
    const [location] = locations;
    expect(bytes[5] === placementShared).toBe(location !== undefined);
    expect(plain(frame, location)).toEqual(says);

    const writer = new FrameWriter();
    writer.append(frame, location?.offset);
    expect(Buffer.from(writer.takeBytes()).toString('hex')).toBe(Buffer.from(bytes).toString('hex'));
  });
});

/** A message as the page shows it: the data of a tensor in hexadecimal, or its location in the region. */
function plain(frame: FrameToWorker | FrameFromWorker, location: RegionLocation | undefined): object {
  if (!('region' in frame)) return frame;
  const { region, ...rest } = frame;
  const shown = ({ data, ...part }: BatchTensor | Tensor): object =>
    location === undefined
      ? { ...part, data: Buffer.from(data).toString('hex') }
      : { ...part, offset: data.byteOffset - region.bytes.byteOffset, bytes: data.length };
  const tensors = 'inputs' in rest ? { inputs: rest.inputs.map(shown) } : { outputs: rest.outputs.map(shown) };
  return { ...rest, ...tensors, ...(location === undefined ? {} : { region: location }) };
}
