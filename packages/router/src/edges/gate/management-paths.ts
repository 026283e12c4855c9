/** Which paths change the server or show its inside. A test holds them equal to the routes and methods there are. */
const prefixes = [
  '/v1/management/',
  '/v2/repository/',
  '/millrace.v1.Management/',
  // All of its methods that begin so, and no other.
  '/inference.GRPCInferenceService/Repository',
];

export function isManagementPath(path: string): boolean {
  return prefixes.some((prefix) => path.startsWith(prefix));
}
