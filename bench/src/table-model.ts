/** A large model without much computation: a table of rows on disk, of which a request gets one. */
import { closeSync, mkdirSync, openSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { onnxModelFrom } from '@millrace/worker/testing';

const columns = 64;
const rowBytes = 4 * columns;
const pieceBytes = 16 * 1024 * 1024;

/** Writes NAME/1/model.onnx and its table into a repository. */
export function writeTableModel(repository: string, name: string, tableBytes: number): void {
  const folder = join(repository, name, '1');
  mkdirSync(folder, { recursive: true });
  const rows = Math.floor(tableBytes / rowBytes);
  const model = onnxModelFrom({
    inputs: [{ name: 'row', datatype: 'INT64', shape: [1] }],
    outputs: [{ name: 'values', datatype: 'FP32', shape: [1, columns] }],
    nodes: [{ operator: 'Gather', inputs: ['table', 'row'], outputs: ['values'] }],
    constants: [
      { name: 'table', datatype: 'FP32', shape: [rows, columns], file: 'table.bin', fileBytes: rows * rowBytes },
    ],
  });
  writeFileSync(join(folder, 'model.onnx'), model);
  writeFileSync(join(repository, name, 'config.pbtxt'), 'max_batch_size: 0\n');
  const file = openSync(join(folder, 'table.bin'), 'w');
  // Not all equal: the system may share equal pages, and the measured memory would be too low.
  const piece = new Float32Array(pieceBytes / 4).map((_, index) => index % 1013);
  for (let left = rows * rowBytes; left > 0; left -= pieceBytes) {
    piece[0] = left;
    writeSync(file, new Uint8Array(piece.buffer, 0, Math.min(left, pieceBytes)));
  }
  closeSync(file);
}
