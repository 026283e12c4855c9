/** `millrace drill` in the table of commands. */
import type { CommandSpec } from '../command-table.ts';

export const drillKinds = ['link', 'worker', 'router', 'store-pause'] as const;
export type DrillKind = (typeof drillKinds)[number];

export const drillCommand: CommandSpec = {
  name: 'drill',
  usage: '[flags]',
  summary: 'Break a real server during a stream, and compare every output with an undisturbed run.',
  details: [
    'Starts a server of its own with the bundled storyteller, or uses a running one with --url. Prints what',
    'happens, a line an event, and a verdict for each kind of failure. The exit code is 0 only when every output',
    'is that of the undisturbed run.',
    'link         the connection of the client is reset, by a proxy in between',
    'worker       SIGKILL to the process that runs the model',
    'router       SIGKILL to the process that serves',
    'store-pause  the journal cannot be written for a while, as on a disk that hangs',
  ],
  examples: [
    'millrace drill',
    'millrace drill --kind router',
    'millrace drill --url http://127.0.0.1:8000 --kind link --kind worker',
  ],
  argumentsMax: 0,
  groups: [
    {
      title: 'Drill',
      flags: [
        {
          flag: 'kind',
          placeholder: 'KIND',
          description: 'What fails.',
          choices: drillKinds,
          isList: true,
          defaultText: 'all; with --url: link',
        },
        { flag: 'model', placeholder: 'MODEL', description: 'A generator.', defaultText: 'storyteller' },
        { flag: 'prompt', placeholder: 'TEXT', description: 'What it continues.', defaultText: 'Once upon a time' },
        {
          flag: 'parameters',
          placeholder: 'JSON',
          description: 'Parameters of the streams; they must make the text the same each time.',
          defaultText: '{"seed":7,"temperature":0.8,"max_tokens":24,"min_tokens":24}',
        },
        {
          flag: 'after',
          placeholder: 'N',
          description: 'Outputs before the failure.',
          defaultText: '4',
        },
        {
          flag: 'pause',
          placeholder: 'SECONDS',
          description: 'Of store-pause: how long the journal cannot be written, up to 10.',
          defaultText: '2',
        },
        {
          flag: 'deadline',
          placeholder: 'SECONDS',
          description: 'How long each attempt to open or resume may take.',
          defaultText: '30',
        },
      ],
    },
    {
      title: 'Server',
      flags: [
        {
          flag: 'models',
          placeholder: 'PATH',
          description: 'Models of the server that the drill starts; those of the repository unless given.',
          completes: 'directory',
        },
        {
          flag: 'url',
          placeholder: 'URL',
          description: 'A running server instead. It is not stopped, but broken where asked.',
          synonyms: ['host', 'server', 'address'],
        },
        {
          flag: 'router-pid',
          placeholder: 'PID',
          description: 'With --url: the process to kill for router; it is in the line "listening" of the log.',
        },
        {
          flag: 'worker-pid',
          placeholder: 'PID',
          description: 'With --url: the process to kill for worker; without it the management API is asked.',
        },
        {
          flag: 'journal-path',
          placeholder: 'FOLDER',
          description: 'With --url: the journal to pause for store-pause, mostly STORE_PATH/journal.',
          completes: 'directory',
        },
      ],
    },
    { title: 'Output', flags: [{ flag: 'json', description: 'Print JSON, for programs.' }] },
  ],
};
