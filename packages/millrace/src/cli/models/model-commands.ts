/** The commands below `millrace models`. */
import type { CommandSpec, FlagGroup, FlagSpec } from '../command-table.ts';

const json: FlagSpec = { flag: 'json', description: 'Print JSON, for programs.' };

const explain: FlagSpec = {
  flag: 'explain',
  description: 'Show for each model whether requests share runs, why, and what to change.',
};

const load: FlagSpec = {
  flag: 'load',
  description: 'Load each model once, as a server would, and list those that cannot be loaded.',
};

export function serverGroup(timeoutSeconds: number): FlagGroup {
  return {
    title: 'Server',
    flags: [
      {
        flag: 'url',
        placeholder: 'URL',
        description: 'Address of the management API; unix:PATH for a Unix socket.',
        defaultText: 'http://127.0.0.1:8000',
        synonyms: ['host', 'server', 'address'],
      },
      {
        flag: 'timeout',
        placeholder: 'SECONDS',
        description: 'How long to wait for an answer.',
        defaultText: String(timeoutSeconds),
      },
    ],
  };
}

export const answerSeconds = 60;
/** Loading a large model takes long, and a model that is replaced finishes its requests before it is unloaded. */
export const loadSeconds = 600;

export const outputFlags: FlagGroup = { title: 'Output', flags: [json] };
export const asking: readonly FlagGroup[] = [serverGroup(answerSeconds), outputFlags];
const changing: readonly FlagGroup[] = [
  serverGroup(answerSeconds),
  {
    title: 'Change',
    flags: [
      {
        flag: 'if-revision',
        placeholder: 'N',
        description: 'Apply the change only if the traffic still has this revision.',
      },
    ],
  },
  outputFlags,
];

interface Said {
  readonly usage: string;
  readonly summary: string;
  readonly details?: readonly string[];
  readonly examples: readonly string[];
  readonly argumentsMax: number;
  readonly groups: readonly FlagGroup[];
}

export function commandBelow(parent: string, name: string, { details = [], ...said }: Said): CommandSpec {
  const examples = said.examples.map((example) => `millrace ${parent} ${example}`);
  return { ...said, name: `${parent} ${name}`, details, examples };
}

const command = (name: string, said: Said): CommandSpec => commandBelow('models', name, said);

export const scanCommand: CommandSpec = {
  ...command('scan', {
    usage: 'PATH… [flags]',
    summary: 'Show which models would be served from these paths, and why others would not.',
    details: [
      'Reads folders, model configurations and graphs, and calls no server. Whether the engine knows the operators',
      'of a graph is found out by a load only: --load loads each model once, as a server would, and ends again.',
      'Exits with 1 if a model would not be served. `millrace models PATH…` is the same.',
    ],
    examples: ['scan ./models', 'scan ./models --load', 'scan ./models --explain', 'scan ./models --json'],
    argumentsMax: 256,
    groups: [
      { title: 'Scan', flags: [load] },
      { title: 'Output', flags: [explain, json] },
    ],
  }),
  completesArguments: 'directory',
};

/** Commands that call a running server. */
const serverCommands = [
  command('list', {
    usage: '[flags]',
    summary: 'Show every model version with its state, labels and load, and the models not loaded.',
    examples: ['list', 'list --url http://gpu-1:8000 --json'],
    argumentsMax: 0,
    groups: asking,
  }),
  command('load', {
    usage: 'MODEL [flags]',
    summary: 'Load a model, or replace a loaded one; returns when it is ready.',
    details: [
      'If the load fails, the loaded one keeps serving. Files are sent in one request, which the server’s',
      'http.bodyBytesMax limits.',
    ],
    examples: ['load mlp', 'load mlp --config mlp.json', 'load mlp --config mlp.json --file 1/model.onnx=./new.onnx'],
    argumentsMax: 1,
    groups: [
      serverGroup(loadSeconds),
      {
        title: 'Instead of the repository',
        flags: [
          {
            flag: 'config',
            placeholder: 'FILE',
            description: 'The whole configuration of the model, as JSON.',
            completes: 'file',
          },
          {
            flag: 'file',
            placeholder: 'PATH=FILE',
            description: 'A file of the model, by its path below the model’s folder; needs --config.',
            isList: true,
          },
        ],
      },
      outputFlags,
    ],
  }),
  command('unload', {
    usage: 'MODEL [flags]',
    summary: 'Unload a model after its requests in progress have finished.',
    examples: ['unload mlp', 'unload pipeline --with-dependents'],
    argumentsMax: 1,
    groups: [
      serverGroup(loadSeconds),
      {
        title: 'Change',
        flags: [{ flag: 'with-dependents', description: 'Also unload the models that this one consists of.' }],
      },
      outputFlags,
    ],
  }),
  command('traffic', {
    usage: 'MODEL [flags]',
    summary: 'Show the labels of a model, and how requests without a version are distributed.',
    examples: ['traffic mlp'],
    argumentsMax: 1,
    groups: asking,
  }),
  command('label', {
    usage: 'MODEL LABEL VERSION [flags]',
    summary: 'Set a label to a version: MODEL@LABEL names that version from now on.',
    examples: ['label mlp stable 2', 'label mlp canary 3 --if-revision 7'],
    argumentsMax: 3,
    groups: changing,
  }),
  command('unlabel', {
    usage: 'MODEL LABEL [flags]',
    summary: 'Remove a label.',
    examples: ['unlabel mlp canary'],
    argumentsMax: 2,
    groups: changing,
  }),
  command('split', {
    usage: 'MODEL VERSION=WEIGHT… [flags]',
    summary: 'Distribute requests that name no version over versions, by weight.',
    examples: ['split mlp 1=90 2=10'],
    argumentsMax: 65,
    groups: changing,
  }),
  command('unsplit', {
    usage: 'MODEL [flags]',
    summary: 'Remove a split: the highest ready version gets all requests again.',
    examples: ['unsplit mlp'],
    argumentsMax: 1,
    groups: changing,
  }),
  command('shadow', {
    usage: 'MODEL VERSION=PERCENT… [flags]',
    summary: 'Send copies of requests to shadow versions, whose answers are not returned.',
    examples: ['shadow mlp 3=5'],
    argumentsMax: 65,
    groups: changing,
  }),
  command('unshadow', {
    usage: 'MODEL [flags]',
    summary: 'Stop sending copies of requests to shadow versions.',
    examples: ['unshadow mlp'],
    argumentsMax: 1,
    groups: changing,
  }),
  command('pin', {
    usage: 'MODEL VERSION [flags]',
    summary: 'Never unload a version for the memory budget.',
    examples: ['pin mlp 2'],
    argumentsMax: 2,
    groups: asking,
  }),
  command('unpin', {
    usage: 'MODEL VERSION [flags]',
    summary: 'Allow a version to be unloaded for the memory budget again.',
    examples: ['unpin mlp 2'],
    argumentsMax: 2,
    groups: asking,
  }),
  command('instances', {
    usage: '[flags]',
    summary: 'Show the workers with their models, breakers and speed.',
    examples: ['instances'],
    argumentsMax: 0,
    groups: asking,
  }),
  command('close-breaker', {
    usage: 'WORKER [flags]',
    summary: 'Close the breakers of a worker, so that it gets requests again.',
    examples: ['close-breaker 3'],
    argumentsMax: 1,
    groups: asking,
  }),
  command('queues', {
    usage: '[flags]',
    summary: 'Show the requests that wait and run now.',
    examples: ['queues', 'queues --watch'],
    argumentsMax: 0,
    groups: [
      serverGroup(answerSeconds),
      {
        title: 'Watch',
        flags: [
          { flag: 'watch', description: 'Repeat until Ctrl-C.' },
          { flag: 'interval', placeholder: 'SECONDS', description: 'Time between two updates.', defaultText: '1' },
        ],
      },
      outputFlags,
    ],
  }),
  command('flush-cache', {
    usage: '[MODEL] [flags]',
    summary: 'Remove cached results of one model or of all.',
    examples: ['flush-cache', 'flush-cache mlp'],
    argumentsMax: 1,
    groups: asking,
  }),
] as const;

export const modelCommands: readonly CommandSpec[] = [...serverCommands, scanCommand];
