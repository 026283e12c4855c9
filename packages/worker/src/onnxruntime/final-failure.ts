/**
 * Texts of ONNX Runtime for graphs that it can never load: malformed files, operators and types that it does not know,
 * tensors that do not fit together. Whatever is not listed (memory, file descriptors, a file that is missing or cannot be
 * read at the moment) may pass, and the load is tried again.
 */
const finalTexts: readonly RegExp[] = [
  /Protobuf parsing failed/,
  /INVALID_PROTOBUF|INVALID_GRAPH|INVALID_ARGUMENT|NOT_IMPLEMENTED/,
  /This is an invalid model/,
  /is not a registered function\/op/,
  /No [Oo]p(?:[Ss]chema)? registered/,
  /No opset import for domain/,
  /Could not find an implementation for/,
  /Unsupported model IR version/,
  /ONNX Runtime only \*guarantees\* support for models stamped with official released onnx opset versions/,
  /Unsupported data type/,
  /Type Error:|ShapeInferenceError|TypeInferenceError/,
  /Node \(.*\) has (?:input|output) size/,
];

/** Whether another load of the same file would fail with this message as well. */
export function isFinalFailure(message: string): boolean {
  return finalTexts.some((text) => text.test(message));
}
