/** What the operating system said, in words. */
export function failureReason(error: unknown): string {
  const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown };
  switch (code) {
    case 'ENOENT':
      return 'it does not exist; check the path';
    case 'EACCES':
    case 'EPERM':
      return 'permission denied; make it readable for this user';
    case 'ENOTDIR':
      return 'a part of the path is a file, not a folder';
    case 'EISDIR':
      return 'it is a folder; name a file';
    default:
      return typeof message === 'string' ? message : String(error);
  }
}
