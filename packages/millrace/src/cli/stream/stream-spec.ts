/** `millrace stream` in the table of commands. */
import type { CommandSpec } from '../command-table.ts';

export const streamCommand: CommandSpec = {
  name: 'stream',
  usage: 'MODEL [TEXT] [flags]',
  summary: 'Open a durable stream on a running server: send inputs, print outputs as they come.',
  details: [
    'Inputs are the TEXT, or --input, or the lines of standard input: a line that begins with { is JSON, either',
    'the fields of an input frame (docs/reference/streams.md) or values by input; any other line is a text.',
    'Text is printed as it is generated; other outputs are a line of JSON each.',
    'Lost links and restarts of the server are resumed, and reported on standard error. Ctrl-C cancels the',
    'stream, a second one leaves at once. The exit code is 0 only when the stream has ended as done.',
  ],
  examples: [
    'millrace stream storyteller "Once upon a time" --seed 7 --max-tokens 100',
    'millrace stream listener_tensors --input audio=@zoo/samples/commands.wav --real-time',
    'arecord -q -f S16_LE -r 16000 -c 1 -t raw | millrace stream listener_tensors --input audio=@-',
    'millrace stream sentiment < reviews.txt',
  ],
  argumentsMax: 2,
  groups: [
    {
      title: 'Server',
      flags: [
        {
          flag: 'url',
          placeholder: 'URL',
          description: 'Address of the server.',
          defaultText: 'http://127.0.0.1:8000',
          synonyms: ['host', 'server', 'address'],
        },
        {
          flag: 'timeout',
          placeholder: 'SECONDS',
          description: 'Give up after this time without a connection, once there was one.',
          defaultText: '120',
        },
      ],
    },
    {
      title: 'Stream',
      flags: [
        {
          flag: 'input',
          placeholder: 'NAME=JSON|@FILE|@-',
          description:
            'Values of one input, or a file with its bytes. A WAV file, and standard input (WAV or raw 16-bit samples), is sent in frames to an FP32 input.',
          isList: true,
        },
        { flag: 'real-time', description: 'Send audio as fast as it was spoken.' },
        { flag: 'rate', placeholder: 'N', description: 'Samples a second of audio.', defaultText: '16000' },
        {
          flag: 'parameters',
          placeholder: 'JSON',
          description: `Parameters of the stream, like '{"seed": 7}'.`,
        },
        { flag: 'seed', placeholder: 'N', description: 'Of a generator: the same seed gives the same text.' },
        { flag: 'max-tokens', placeholder: 'N', description: 'Of a generator: tokens at most.' },
        { flag: 'temperature', placeholder: 'X', description: 'Of a generator: 0 takes the most probable token.' },
        {
          flag: 'stream-id',
          placeholder: 'ID',
          description: 'Id of the stream; one that exists is taken up.',
          defaultText: 'random',
        },
        {
          flag: 'resume-after',
          placeholder: 'N',
          description: 'With --stream-id: the last output that was seen before.',
          defaultText: '0',
        },
      ],
    },
    { title: 'Output', flags: [{ flag: 'json', description: 'Print every frame of the server, a line each.' }] },
  ],
};
