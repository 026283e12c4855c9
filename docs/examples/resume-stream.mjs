/**
 * A client of durable streams in one file: it opens a stream, loses its connection on purpose, and resumes. It prints
 * every frame, > for those it sends and < for those it gets. Needs Node.js and nothing else.
 *
 *   node docs/examples/resume-stream.mjs [URL] [MODEL] [INPUT] [ELEMENTS] [STREAM_ID]
 */
import { randomUUID } from 'node:crypto';
import { connect } from 'node:http2';
import { setTimeout as pause } from 'node:timers/promises';

const [
  url = 'http://127.0.0.1:8000',
  model = 'listener_tensors',
  name = 'audio',
  elements = '320',
  streamId = randomUUID(),
] = process.argv.slice(2);
const inputs = 3;
/** Where the connection is cut: the server has input 2, the client has not got its output. */
const cutAfterInput = 2;

/** Inputs by sequence, until the server says that they are durable. */
const kept = new Map();
let lastOutput = 0;
let hasCut = false;

let backoffMs = 100;
while (!(await converse())) {
  console.log(`# connection lost; again in ${backoffMs} ms, after output ${lastOutput}`);
  await pause(backoffMs);
  backoffMs = Math.min(2 * backoffMs, 5000);
}

/** One connection; true: the stream has ended, false: resume it. */
function converse() {
  const session = connect(url);
  const call = session.request({
    ':method': 'POST',
    ':path': '/millrace.v1.InferenceService/Stream',
    'content-type': 'application/connect+json',
    'connect-protocol-version': '1',
  });
  return new Promise((resolve) => {
    const lost = () => resolve(false);
    session.on('error', lost).on('close', lost);
    call.on('error', lost).on('close', () => session.close());

    const send = (frame) => {
      console.log(`> ${shortened(JSON.stringify(frame))}`);
      call.write(enveloped(frame));
    };
    /** Durable up to here: what was kept for a resume goes, and the credit counts from here. */
    const accept = (input, credit) => {
      for (const sequence of kept.keys()) if (sequence <= input) kept.delete(sequence);
      if (credit !== undefined) inputMax = input + credit.messages;
    };
    let inputMax = 0;
    let nextInput = 1;
    const sendInputs = () => {
      // The next input depends on the answer to the one before, as in a conversation.
      while (nextInput <= Math.min(inputs, inputMax, lastOutput + 1)) {
        if (!kept.has(nextInput)) kept.set(nextInput, inputOf(nextInput));
        send({ input: kept.get(nextInput) });
        nextInput += 1;
      }
    };

    const handlers = {
      opened: ({ acceptedInput, inputCredit }) => {
        backoffMs = 100;
        accept(acceptedInput, inputCredit);
        nextInput = acceptedInput + 1;
        sendInputs();
      },
      accepted: ({ input, inputCredit }) => {
        accept(input, inputCredit);
        if (!hasCut && input === cutAfterInput) {
          hasCut = true;
          session.destroy();
        }
      },
      output: ({ sequence }) => {
        // A frame that was seen before is skipped: outputs never change.
        if (sequence <= lastOutput) return;
        lastOutput = sequence;
        send({ acknowledge: { output: sequence, outputCredit: { messages: 64, bytes: 1048576 } } });
        sendInputs();
      },
      draining: () => {},
      ended: () => resolve(true),
    };
    readEnvelopes(call, (frame, isTrailer) => {
      if (session.destroyed) return;
      if (isTrailer) {
        if (frame.error !== undefined) failed(frame.error);
        return;
      }
      console.log(`< ${shortened(JSON.stringify(frame))}`);
      const [[kind, value]] = Object.entries(frame);
      handlers[kind](value);
    });
    send({
      open: { streamId, context: model, resumeAfter: lastOutput, outputCredit: { messages: 64, bytes: 1048576 } },
    });
  });
}

/** The call ended with an error. `unavailable` is worth another attempt; other errors would come again. */
function failed({ code, message }) {
  console.log(`# ${code}: ${message}`);
  if (code !== 'unavailable') process.exit(1);
}

function inputOf(sequence) {
  const data = new Array(Number(elements)).fill(sequence);
  const tensor = { name, datatype: 'FP32', shape: [1, data.length], data };
  return { sequence, tensors: [tensor], ...(sequence === inputs ? { endOfInput: true } : {}) };
}

/** Connect's form of a streamed message: flags, length, JSON. */
function enveloped(frame) {
  const body = Buffer.from(JSON.stringify(frame));
  const head = Buffer.alloc(5);
  head.writeUInt32BE(body.length, 1);
  return Buffer.concat([head, body]);
}

function readEnvelopes(call, onFrame) {
  let bytes = Buffer.alloc(0);
  call.on('data', (chunk) => {
    bytes = Buffer.concat([bytes, chunk]);
    while (bytes.length >= 5 && bytes.length >= 5 + bytes.readUInt32BE(1)) {
      const end = 5 + bytes.readUInt32BE(1);
      const isTrailer = (bytes[0] & 2) !== 0;
      onFrame(JSON.parse(bytes.subarray(5, end)), isTrailer);
      bytes = bytes.subarray(end);
    }
  });
}

function shortened(text) {
  return text.length <= 320 ? text : `${text.slice(0, 300)}… (${text.length} characters)`;
}
