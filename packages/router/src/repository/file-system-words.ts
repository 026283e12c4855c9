const words: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist',
  EACCES: 'cannot be read: permission denied; check its owner and mode',
  EPERM: 'cannot be read: not permitted; check its owner and mode',
  ELOOP: 'is a symbolic link that leads back to itself; remove or correct it',
  ENOTDIR: 'leads through something that is not a folder',
  EISDIR: 'is a folder, not a file',
  ENAMETOOLONG: 'has a name that is too long for the file system',
  EMFILE: 'cannot be opened: too many open files; raise the limit (ulimit -n)',
};

/** A file system error as a predicate about the path it happened on, for instance `does not exist`. */
export function wordsFromFileError(error: unknown): string {
  const code = error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
  return words[code] ?? `cannot be read: ${error instanceof Error ? error.message : String(error)}`;
}
