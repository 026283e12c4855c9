/**
 * The library follows JavaScript where `tokenizers` follow Unicode and Rust. Parts of tokenizer.json are written here in another way,
 * which the library reads as `tokenizers` do:
 *
 * - `\s` of JavaScript has U+FEFF and lacks U+0085. A pattern in the file is read right, those inside the library are not. (With
 *   `add_prefix_space` the byte-level pattern stays the library's: texts with these two characters can get other tokens.)
 * - A capital sigma at the end of a word becomes a final sigma in JavaScript, and any sigma in Rust.
 */
import { isJsonFields, type JsonFields } from './model-file-error.ts';

/** GPT-2's. */
const byteLevelPattern = "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";

export function correctedTokenizer(fields: JsonFields): JsonFields {
  const normalizer = corrected(fields.normalizer, normalizerParts);
  const preTokenizer = corrected(fields.pre_tokenizer, preTokenizerParts);
  return {
    ...fields,
    normalizer: normalizer.length === 1 ? normalizer[0] : { type: 'Sequence', normalizers: normalizer },
    pre_tokenizer: preTokenizer.length === 1 ? preTokenizer[0] : { type: 'Sequence', pretokenizers: preTokenizer },
  };
}

/** The parts of a sequence, or the one part; null stays one. */
function corrected(part: unknown, partsOf: (part: JsonFields) => readonly JsonFields[]): readonly unknown[] {
  if (!isJsonFields(part)) return [part ?? null];
  if (part.type !== 'Sequence') return partsOf(part);
  const inner = part.normalizers ?? part.pretokenizers;
  return Array.isArray(inner) ? inner.flatMap((one) => corrected(one, partsOf)) : [part];
}

function normalizerParts(part: JsonFields): readonly JsonFields[] {
  const isLowercasing = part.type === 'Lowercase' || (part.type === 'BertNormalizer' && part.lowercase !== false);
  return isLowercasing ? [{ type: 'Replace', pattern: { String: '\u03a3' }, content: '\u03c3' }, part] : [part];
}

function preTokenizerParts(part: JsonFields): readonly JsonFields[] {
  if (part.type === 'WhitespaceSplit') return [splitBy('\\s+', 'Removed')];
  if (part.type === 'ByteLevel' && part.use_regex !== false && part.add_prefix_space !== true) {
    return [splitBy(byteLevelPattern, 'Isolated'), { ...part, use_regex: false }];
  }
  return [part];
}

function splitBy(pattern: string, behavior: string): JsonFields {
  return { type: 'Split', pattern: { Regex: pattern }, behavior, invert: false };
}
