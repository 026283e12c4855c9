import {
  closeCodeOf,
  type ErrorCode,
  type ErrorKind,
  errorCatalogue,
  errorMeanings,
  grpcStatus,
  type RetryAdvice,
} from '@millrace/protocol';
import { expect, test } from 'vitest';

const advice: Readonly<Record<RetryAdvice, string>> = {
  never: 'Do not repeat the same request: it would fail the same way, or nobody waits for it any more.',
  'after-backoff': 'Repeat the request after a pause that grows with every attempt.',
  'other-worker': 'The router tries another worker itself; a caller sees this only when there was none.',
  resume: 'Resume the stream after the last output that arrived.',
};

function entry(code: ErrorCode, kind: ErrorKind): string {
  return [
    `## ${code}`,
    '',
    errorMeanings[code],
    '',
    `- Number ${kind.number}, HTTP ${kind.http}, gRPC ${kind.grpc} (${grpcStatus[kind.grpc]}), WebSocket ${closeCodeOf(code)}`,
    `- ${advice[kind.retry]} (\`${kind.retry}\`)`,
    '',
  ].join('\n');
}

const kinds = Object.entries(errorCatalogue) as [ErrorCode, ErrorKind][];

const reference = [
  '# Errors',
  '',
  '<!-- Made from packages/protocol/src/errors.ts and error-meanings.ts by `npm run reference`; a test keeps both equal. -->',
  '',
  'Every way a request can fail has one code, the same on every protocol. It is the `code` label of',
  '`millrace_failures_total` and the heading here. The message of an error says more than its code; programs should',
  'decide by the code.',
  '',
  'The number is what a worker sends for the code: see [dispatch.md](dispatch.md#errors). It never changes. A WebSocket is',
  'closed with the code of its protocol that says the same, otherwise with 4000 and the number.',
  '',
  '| Code | Number | HTTP | gRPC | WebSocket | Retry |',
  '|---|---|---|---|---|---|',
  ...kinds.map(
    ([code, kind]) =>
      `| [\`${code}\`](#${code}) | ${kind.number} | ${kind.http} | ${kind.grpc} | ${closeCodeOf(code)} | ${kind.retry} |`,
  ),
  '',
  ...kinds.map(([code, kind]) => entry(code, kind)),
].join('\n');

test('docs/reference/errors.md says what the error catalogue says', async () => {
  await expect(reference).toMatchFileSnapshot('../../docs/reference/errors.md');
});

test('every entry of the catalogue is a kebab-case code with one whole sentence', () => {
  for (const [code] of kinds) {
    expect(code).toMatch(/^[a-z]+(-[a-z]+)*$/);
    expect(errorMeanings[code], code).toMatch(/^[A-Z].*\.$/);
  }
});
