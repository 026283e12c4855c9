/** The storyteller as exporters of Hugging Face write a decoder: the graph of `models/storyteller_tensors` with its JSON files beside it. */
import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const source = fileURLToPath(new URL('../../../../models/storyteller_tensors/', import.meta.url));
export const storytellerFile: string = join(source, '1/model.onnx');
/** Stands before a text and ends it. */
export const storytellerEndId = 0;
export const storytellerContextTokens = 450;

/** Writes a version folder of a generator, and returns the path of its model file. */
export async function writeStorytellerFolder(folder: string): Promise<string> {
  await mkdir(folder, { recursive: true });
  const tokenizer = JSON.parse(await readFile(join(source, 'tokenizer.json'), 'utf8'));
  const end = '<|end|>';
  tokenizer.post_processor = {
    type: 'TemplateProcessing',
    single: [{ SpecialToken: { id: end, type_id: 0 } }, { Sequence: { id: 'A', type_id: 0 } }],
    pair: [{ Sequence: { id: 'A', type_id: 0 } }, { Sequence: { id: 'B', type_id: 1 } }],
    special_tokens: { [end]: { id: end, ids: [storytellerEndId], tokens: [end] } },
  };
  const json = (name: string, value: unknown) => writeFile(join(folder, name), JSON.stringify(value));
  await json('tokenizer.json', tokenizer);
  await json('generation_config.json', { eos_token_id: storytellerEndId, do_sample: false });
  await json('config.json', { max_position_embeddings: storytellerContextTokens });
  const model = join(folder, 'model.onnx');
  await copyFile(storytellerFile, model);
  return model;
}
