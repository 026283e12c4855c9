/** Large legitimate uses, which limits against attackers must not affect. */
import { doubleModel, growModel } from '../attack-models.ts';
import { GrpcCalls } from '../bystander/grpc-calls.ts';
import { doubled, tensorOf } from '../bystander/numbers.ts';
import { growJson, inferPath } from '../raw/requests.ts';
import { answerProblem, pacedCall, tensorCall } from './call.ts';
import type { HonestUse } from './honest-use.ts';

const mebibyte = 1024 * 1024;
/** The largest body is 256 MiB, the JSON before the tensor included. */
const largestTensorBytes = 256 * mebibyte - 4096;
/** As long as it is slow in the short form. */
const shortSlowSeconds = 8;

const largeTensorOverRest: HonestUse = {
  name: 'a binary tensor of 256 MiB over REST',
  async run(ports, address) {
    const values = tensorOf(largestTensorBytes / 4, 1);
    const answer = await pacedCall(ports, address, { path: inferPath(doubleModel), ...tensorCall(values) });
    return answerProblem(answer, doubled(values));
  },
};

const largeTensorOverGrpc: HonestUse = {
  name: 'a binary tensor of 48 MiB over gRPC',
  async run(ports, address) {
    const calls = new GrpcCalls(ports, address);
    const outcome = await calls.infer(tensorOf((48 * mebibyte) / 4, 2));
    calls.close();
    return outcome.kind === 'answered' ? '' : outcome.problem;
  },
};

const slowUpload: HonestUse = {
  name: 'an upload at 20 KB/s',
  async run(ports, address, isLong) {
    const seconds = isLong ? 90 : shortSlowSeconds;
    const values = tensorOf((20_000 * seconds) / 4, 3);
    const call = { path: inferPath(doubleModel), ...tensorCall(values), sentBytesPerSecond: 20_000 };
    return answerProblem(await pacedCall(ports, address, call), doubled(values));
  },
};

const slowDownload = (isLast: boolean): HonestUse => ({
  name: `an answer of 8 MB to a reader at 100 KB/s, with connection: ${isLast ? 'close' : 'keep-alive'}`,
  async run(ports, address, isLong) {
    const bytes = 8_000_000;
    const body = Buffer.from(growJson(bytes));
    const answer = await pacedCall(ports, address, {
      path: inferPath(growModel),
      headers: { 'content-type': 'application/json', 'content-length': body.length },
      ...{ body, isLast, readBytesPerSecond: 100_000, ...(isLong ? {} : { slowBytes: 100_000 * shortSlowSeconds }) },
    });
    return answerProblem(answer, Buffer.alloc(bytes));
  },
});

const rowsAsJson: HonestUse = {
  name: '1,000 rows of 784 floats as JSON, with all digits and a space after each comma',
  async run(ports, address) {
    const [rows, columns] = [1000, 784];
    const values = Float32Array.from({ length: rows * columns }, (_, index) => Math.sin(index + 1) ** 2);
    const data = Array.from(values, String).join(', ');
    const body = Buffer.from(
      `{"inputs": [{"name": "x", "datatype": "FP32", "shape": [${rows}, ${columns}], "data": [${data}]}], "outputs": [{"name": "y", "parameters": {"binary_data": true}}]}`,
    );
    const headers = { 'content-type': 'application/json', 'content-length': body.length };
    const answer = await pacedCall(ports, address, { path: inferPath(doubleModel), headers, body });
    const problem = answerProblem(answer, doubled(values));
    return problem === '' ? '' : `${body.length} bytes of JSON: ${problem}`;
  },
};

export const honestUses: readonly HonestUse[] = [
  largeTensorOverRest,
  largeTensorOverGrpc,
  slowUpload,
  slowDownload(false),
  slowDownload(true),
  rowsAsJson,
];
