/** Splits the target of a request line into its parts. */
export interface RequestTarget {
  readonly path: string;
  readonly query: string;
  /** Only in the absolute form that proxies receive: `GET http://host/path`. */
  readonly authority: string | undefined;
}

export function splitTarget(target: string): RequestTarget {
  let rest = target;
  let authority: string | undefined;
  if (!rest.startsWith('/')) {
    const absolute = /^https?:\/\/([^/?#]*)(.*)$/i.exec(rest);
    if (absolute !== null) {
      authority = absolute[1] ?? '';
      rest = absolute[2] ?? '';
      if (!rest.startsWith('/')) rest = `/${rest}`;
    }
  }
  const question = rest.indexOf('?');
  return question < 0
    ? { path: rest, query: '', authority }
    : { path: rest.slice(0, question), query: rest.slice(question + 1), authority };
}
