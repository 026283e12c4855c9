import { OnnxFileError } from './onnx-file-error.ts';
import { forEachDelimited, nameBytesMax } from './read-value-info.ts';
import type { WireField, WireReader } from './wire-reader.ts';

export interface OnnxInitializer {
  readonly name: string;
  /** The file that holds the values, when they are not inside the model. */
  readonly externalFile: string | undefined;
}

const externalEntriesMax = 64;

/** A stored weight: its name and where its values are. The values themselves are skipped. */
export async function readInitializer(reader: WireReader, holder: WireField): Promise<OnnxInitializer> {
  let name = '';
  let externalFile: string | undefined;
  let entries = 0;
  await reader.forEachField(holder.start, holder.end, (field) => {
    if (!field.isDelimited) return undefined;
    if (field.number === 8) {
      return reader.readString(field, nameBytesMax, 'the name of an initializer').then((read) => {
        name = read;
      });
    }
    if (field.number !== 13) return undefined;
    entries += 1;
    if (entries > externalEntriesMax) {
      throw new OnnxFileError(
        `the initializer at byte ${holder.start} has more than ${externalEntriesMax} external entries`,
      );
    }
    return readEntry(reader, field).then(([key, value]) => {
      if (key === 'location') externalFile = value;
    });
  });
  return { name, externalFile };
}

/** The name of a sparse weight is that of its values. */
export async function readSparseInitializer(reader: WireReader, holder: WireField): Promise<OnnxInitializer> {
  let result: OnnxInitializer = { name: '', externalFile: undefined };
  await forEachDelimited(reader, holder, async (field) => {
    if (field.number === 1) result = await readInitializer(reader, field);
  });
  return result;
}

/** A key and a value, as in metadata and external data. */
export async function readEntry(
  reader: WireReader,
  holder: WireField,
  valueBytesMax = nameBytesMax,
): Promise<readonly [key: string, value: string]> {
  let key = '';
  let value = '';
  await forEachDelimited(reader, holder, async (field) => {
    if (field.number === 1) key = await reader.readString(field, nameBytesMax, 'a key');
    if (field.number === 2) value = await reader.readString(field, valueBytesMax, 'a value');
  });
  return [key, value];
}
