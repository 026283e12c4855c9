/** ModelMetadataResponse and RepositoryIndexResponse. */
import { ProtoCursor } from '@millrace/protocol';
import { knownDatatype } from '../../frames/read-server-frame.ts';
import type { ModelDescription, ModelListing, TensorDescription } from '../transport.ts';

const decoder = /* @__PURE__ */ new TextDecoder();

export function decodeModelDescription(message: Uint8Array): ModelDescription {
  const cursor = new ProtoCursor(message);
  let [name, platform] = ['', ''];
  const versions: string[] = [];
  const inputs: TensorDescription[] = [];
  const outputs: TensorDescription[] = [];
  for (let tag = cursor.nextTag(); tag !== 0; tag = cursor.nextTag()) {
    if (tag === 0x0a) name = text(cursor);
    else if (tag === 0x12) versions.push(text(cursor));
    else if (tag === 0x1a) platform = text(cursor);
    else if (tag === 0x22) inputs.push(readTensor(cursor));
    else if (tag === 0x2a) outputs.push(readTensor(cursor));
    else cursor.skip(tag);
  }
  return { name, versions, platform, inputs, outputs };
}

function readTensor(cursor: ProtoCursor): TensorDescription {
  const inner = new ProtoCursor(cursor.readBytes());
  let [name, datatype] = ['', ''];
  const shape: number[] = [];
  for (let tag = inner.nextTag(); tag !== 0; tag = inner.nextTag()) {
    if (tag === 0x0a) name = text(inner);
    else if (tag === 0x12) datatype = text(inner);
    else if (tag === 0x18) shape.push(inner.readInt64());
    else if (tag === 0x1a) {
      const stop = inner.readLength();
      while (inner.at < stop) shape.push(inner.readInt64());
    } else inner.skip(tag);
  }
  return { name, datatype: knownDatatype(datatype, name), shape };
}

export function decodeModelIndex(message: Uint8Array): readonly ModelListing[] {
  const cursor = new ProtoCursor(message);
  const models: ModelListing[] = [];
  for (let tag = cursor.nextTag(); tag !== 0; tag = cursor.nextTag()) {
    if (tag !== 0x0a) {
      cursor.skip(tag);
      continue;
    }
    const inner = new ProtoCursor(cursor.readBytes());
    const texts = ['', '', '', ''];
    for (let field = inner.nextTag(); field !== 0; field = inner.nextTag()) {
      if ((field & 7) === 2 && field >>> 3 <= 4) texts[(field >>> 3) - 1] = text(inner);
      else inner.skip(field);
    }
    const [name = '', version = '', state = '', reason = ''] = texts;
    models.push({ name, version, state: state === '' ? 'UNKNOWN' : state, reason });
  }
  return models;
}

function text(cursor: ProtoCursor): string {
  return decoder.decode(cursor.readBytes());
}
