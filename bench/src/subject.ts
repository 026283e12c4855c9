/** A model that a bench runs: where it lies, what it takes, and rows for it, the same for every contestant. */
import { copyFileSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { mlpInputs, mlpPath } from './mlp.ts';
import { resnetShapedModel } from './resnet-shaped.ts';

export interface Subject {
  readonly name: string;
  readonly input: string;
  readonly rowShape: readonly number[];
  writeModel(path: string): void;
}

const digitsPath = fileURLToPath(new URL('../../models/digits_tensors/1/model.onnx', import.meta.url));

export const subjects: readonly Subject[] = [
  { name: 'mlp', input: 'input', rowShape: [mlpInputs], writeModel: (path) => copyFileSync(mlpPath, path) },
  { name: 'digits', input: 'image', rowShape: [1, 28, 28], writeModel: (path) => copyFileSync(digitsPath, path) },
  {
    name: 'resnet-shaped',
    input: 'image',
    rowShape: [3, 224, 224],
    writeModel: (path) => writeFileSync(path, resnetShapedModel()),
  },
];

export function mustFindSubject(name: string): Subject {
  const subject = subjects.find((one) => one.name === name);
  if (subject === undefined) throw new Error(`no such model: ${name}; there are ${subjects.map((one) => one.name)}`);
  return subject;
}

/** Reproducible. */
export function inputRowsFor(subject: Subject, rows: number): Float32Array {
  const data = new Float32Array(rows * subject.rowShape.reduce((product, size) => product * size, 1));
  for (let index = 0; index < data.length; index++) data[index] = Math.sin(index * 12.9898) % 1;
  return data;
}

/** A repository of its own with the model in batches of at most this many rows. */
export function subjectRepository(subject: Subject, rowsMax: number): string {
  const folder = mkdtempSync(join(tmpdir(), `millrace-${subject.name}-`));
  mkdirSync(join(folder, subject.name, '1'), { recursive: true });
  subject.writeModel(join(folder, subject.name, '1/model.onnx'));
  writeFileSync(join(folder, subject.name, 'config.pbtxt'), `max_batch_size: ${rowsMax}\ndynamic_batching { }\n`);
  return folder;
}
