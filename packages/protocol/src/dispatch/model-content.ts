/** The files of a model by what they contain, so that a worker finds them wherever they are, and knows them when it has them. */

/** More files than this are refused, by routers and workers. */
export const contentFilesMax = 10_000;

export interface ModelContent {
  /** `sha256:` and the hexadecimal SHA-256 of the manifest of `files`. */
  readonly digest: string;
  /** Which of them the engine is given, as `LoadSpec.path` is. */
  readonly file: string;
  readonly files: readonly ContentFile[];
  /** Where all of the files can be fetched; the worker tries `LoadSpec.path` first. */
  readonly locations: readonly ContentLocation[];
}

export interface ContentFile {
  /** Relative to the folder of the content, with `/` between its parts. */
  readonly path: string;
  readonly bytes: number;
  /** Hexadecimal, in lower case. */
  readonly sha256: string;
}

/** Somewhere that the files can be copied from; `unknown` is one of a later release, which this release cannot use. */
export type ContentLocation =
  | { readonly kind: 'folder'; readonly path: string }
  | { readonly kind: 'unknown'; readonly name: string };

const digestPattern = /^sha256:[0-9a-f]{64}$/;
const encoder = new TextEncoder();

export function isContentDigest(text: string): boolean {
  return digestPattern.test(text);
}

/**
 * A line for each file, as `sha256sum` prints it: its SHA-256, two spaces, its path, a line feed. The lines are in the order
 * of the bytes of their paths in UTF-8. A content is named by the SHA-256 of this text.
 */
export function contentManifestOf(files: readonly ContentFile[]): string {
  const keyed = files.map((file) => ({ file, key: encoder.encode(file.path) }));
  keyed.sort((a, b) => byteOrder(a.key, b.key));
  return keyed.map(({ file: { sha256, path } }) => `${sha256}  ${path}\n`).join('');
}

/** Why a path cannot be that of a file of a content; undefined: it can. A worker writes files under these paths. */
export function contentPathProblem(path: string): string | undefined {
  if (/[\n\r\\\0]/.test(path))
    return `${JSON.stringify(path)} has a line break, a backslash or a zero in it; rename the file`;
  const isPlain = path.split('/').every((part) => part !== '' && part !== '.' && part !== '..');
  return isPlain ? undefined : `${JSON.stringify(path)} must be relative, without "." and ".."`;
}

function byteOrder(a: Uint8Array, b: Uint8Array): number {
  const shared = Math.min(a.length, b.length);
  for (let at = 0; at < shared; at++) {
    const difference = (a[at] as number) - (b[at] as number);
    if (difference !== 0) return difference;
  }
  return a.length - b.length;
}
