/** File system errors as predicates about the path. */
const messages: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist',
  ELOOP: 'is a symbolic link that leads back to itself; remove or correct it',
  ENOTDIR: 'has a parent that is not a folder',
  EISDIR: 'is a folder, not a file',
  ENAMETOOLONG: 'has a name that is too long for the file system',
  EMFILE: 'cannot be opened: too many open files; raise the limit (ulimit -n)',
};

/** Appended to what was attempted. */
const refusals: Readonly<Record<string, string>> = {
  EACCES: 'permission denied; check its owner and mode',
  EPERM: 'not permitted; check its owner and mode',
};

/** A file system error as a predicate about the path it happened on, for instance `does not exist`. */
export function messageFromFileError(error: unknown, attempt: 'read' | 'written' = 'read'): string {
  const code = error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
  const reason = refusals[code] ?? (error instanceof Error ? error.message : String(error));
  return messages[code] ?? `cannot be ${attempt}: ${reason}`;
}
