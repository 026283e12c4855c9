/** The code of the error catalogue in the details of a gRPC or Connect error. */

/** Of google.rpc.ErrorInfo, alone or within google.rpc.Status: its reason stands before its domain. Empty: the server said none. */
export function codeFromDetails(details: Buffer | undefined): string {
  const [before = ''] = details?.toString('latin1').split('\u0012\bmillrace') ?? [];
  return (/[A-Z_]+$/.exec(before)?.[0] ?? '').toLowerCase().replaceAll('_', '-');
}
