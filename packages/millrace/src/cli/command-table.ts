/** Every command with its arguments and flags: the one source of parsing, help and completion. */
import { configFields, configFlag, type NamedField } from '../config/fields.ts';
import { chaosCommand } from './chaos/chaos-spec.ts';
import { drillCommand } from './drill/drill-spec.ts';
import { modelCommands, scanCommand } from './models/model-commands.ts';
import { streamCommand } from './stream/stream-spec.ts';
import { streamCommands } from './streams/stream-commands.ts';

export interface FlagSpec {
  /** Without the dashes. */
  readonly flag: string;
  readonly short?: string;
  readonly description: string;
  /** What stands for the value in help; a flag without one is a switch. */
  readonly placeholder?: string;
  readonly choices?: readonly string[];
  readonly completes?: 'file' | 'directory';
  /** May be given more than once; otherwise the last one counts. */
  readonly isList?: boolean;
  /** A switch that `--no-…` turns off. */
  readonly isNegatable?: boolean;
  readonly defaultText?: string;
  readonly synonyms?: readonly string[];
  /** The setting it sets, if it sets one. */
  readonly setting?: NamedField;
}

export interface FlagGroup {
  readonly title: string;
  readonly flags: readonly FlagSpec[];
}

export interface CommandSpec {
  readonly name: string;
  /** After the name in the usage line. */
  readonly usage: string;
  readonly summary: string;
  /** Paragraphs under the usage line. */
  readonly details: readonly string[];
  readonly examples: readonly string[];
  readonly argumentsMax: number;
  readonly argumentChoices?: readonly string[];
  readonly completesArguments?: 'directory';
  readonly groups: readonly FlagGroup[];
  /** Commands below this one, such as `models list`. Arguments that name none of them are its own. */
  readonly subcommands?: readonly CommandSpec[];
}

export const generalFlags: readonly FlagSpec[] = [
  { flag: 'help', short: 'h', description: 'Show this help.' },
  { flag: 'version', short: 'V', description: 'Show the version.' },
];

const json: FlagSpec = { flag: 'json', description: 'Print JSON, for programs.' };

function settingFlag(setting: NamedField): FlagSpec {
  const { field } = setting;
  return {
    flag: field.flag,
    description: field.description,
    isList: field.isList,
    isNegatable: field.placeholder === undefined,
    defaultText: field.format(field.default),
    setting,
    ...(field.placeholder === undefined ? {} : { placeholder: field.placeholder }),
    ...(field.choices === undefined ? {} : { choices: field.choices }),
    ...(field.completes === undefined ? {} : { completes: field.completes }),
    ...(field.synonyms === undefined ? {} : { synonyms: field.synonyms }),
  };
}

const groupTitles: Readonly<Record<string, string>> = {
  models: 'Models',
  server: 'Server',
  management: 'Management',
  tls: 'TLS',
  log: 'Logs',
  shutdown: 'Shutdown',
  http: 'HTTP limits',
  memory: 'Memory for requests',
  queue: 'Queues',
  shadow: 'Shadows',
  store: 'Store',
  cache: 'Result cache',
  worker: 'Workers',
};

function settingGroups(): FlagGroup[] {
  const groups = new Map<string, FlagSpec[]>();
  for (const setting of configFields) {
    const flags = groups.get(setting.group) ?? [];
    flags.push(settingFlag(setting));
    groups.set(setting.group, flags);
  }
  return [...groups].map(([group, flags]) => ({ title: groupTitles[group] ?? group, flags }));
}

export const serveCommand: CommandSpec = {
  name: 'serve',
  usage: '[PATH…] [flags]',
  summary: 'Serve the models of one or more folders, or single .onnx files.',
  details: [
    'Listens at once and loads the models in the background; each model answers as soon as it is ready.',
    'Every flag is also a MILLRACE_… variable and a field of the configuration file; flags override variables,',
    'and variables override the file. docs/reference/config.md lists them all.',
    'SIGTERM and SIGINT (Ctrl-C) finish requests in progress, then stop; a second one ends the server at once.',
  ],
  examples: [
    'millrace serve ./models',
    'millrace serve ./models --host 0.0.0.0 --http-port 9000',
    'millrace serve --config millrace.yaml',
  ],
  argumentsMax: 256,
  completesArguments: 'directory',
  groups: [
    {
      title: 'Configuration',
      flags: [
        {
          flag: configFlag,
          placeholder: 'FILE',
          description: 'Read settings from a YAML file.',
          completes: 'file',
          defaultText: 'none',
        },
      ],
    },
    ...settingGroups(),
  ],
};

export const modelsCommand: CommandSpec = {
  ...scanCommand,
  name: 'models',
  usage: 'COMMAND … | PATH… [flags]',
  summary: 'See and change what a running server serves, or show what would be served from paths.',
  details: [
    'All commands except scan call a running server. A path instead of a command is scanned.',
    'millrace models COMMAND --help describes each command.',
  ],
  examples: [
    'millrace models list',
    'millrace models load mlp',
    'millrace models label mlp stable 2',
    'millrace models ./models',
  ],
  subcommands: modelCommands,
};

const streamsCommand: CommandSpec = {
  name: 'streams',
  usage: 'COMMAND … [flags]',
  summary: 'See and cancel durable streams of a running server.',
  details: ['millrace streams COMMAND --help describes each command.'],
  examples: ['millrace streams list', 'millrace streams show 9b1f', 'millrace streams cancel 9b1f'],
  argumentsMax: 1,
  groups: [],
  subcommands: streamCommands,
};

export const inferCommand: CommandSpec = {
  name: 'infer',
  usage: 'MODEL [flags]',
  summary: 'Send one request to a running server and print the answer.',
  details: [
    'Asks the server for the inputs of the model, so values need no types: a flat or nested list is enough.',
    'Inputs come from --input, from --random (for those not given), or as a whole request body from --data.',
  ],
  examples: [
    'millrace infer mlp --random',
    `millrace infer add --input 'a=[1, 2]' --input 'b=[3, 4]'`,
    'millrace infer photo_digit --input image=@photo.jpg',
    'millrace infer mlp --data request.json --json',
  ],
  argumentsMax: 1,
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
          flag: 'model-version',
          placeholder: 'VERSION',
          description: 'Version of the model.',
          defaultText: 'preferred',
        },
        { flag: 'timeout', placeholder: 'SECONDS', description: 'How long to wait for answers.', defaultText: '60' },
      ],
    },
    {
      title: 'Request',
      flags: [
        {
          flag: 'input',
          placeholder: 'NAME=JSON|@FILE',
          description: 'Values of one input, or a file with its bytes: for BYTES one element, else the raw elements.',
          isList: true,
        },
        {
          flag: 'shape',
          placeholder: 'NAME=N,N,…',
          description: 'Shape of one input, if its values and the model do not determine it.',
          isList: true,
        },
        {
          flag: 'parameters',
          placeholder: 'JSON',
          description: `Parameters of the request, like '{"max_tokens": 64}' for a generator.`,
        },
        {
          flag: 'data',
          placeholder: 'FILE',
          description: 'A whole JSON request body; - reads it from standard input.',
          completes: 'file',
        },
        { flag: 'random', description: 'Generate random values for the inputs that are not given.' },
        {
          flag: 'seed',
          placeholder: 'N',
          description: 'Seed of --random; the same seed gives the same inputs.',
          defaultText: '1',
        },
        {
          flag: 'rows',
          placeholder: 'N',
          description: 'Rows that --random generates for a batched model.',
          defaultText: '1',
        },
        {
          flag: 'deadline-ms',
          placeholder: 'MS',
          description: 'Milliseconds after which the server cancels the request.',
          defaultText: 'none',
        },
        { flag: 'binary', description: 'Send and receive tensors as bytes instead of JSON.' },
      ],
    },
    { title: 'Output', flags: [json] },
  ],
};

const typesCommand: CommandSpec = {
  name: 'types',
  usage: '[URL] [flags]',
  summary: 'Print the models of a running server as TypeScript types.',
  details: [
    'For @millrace/client: createClient<Models>(url) then knows names, datatypes and shapes of every model.',
    'Models that are not ready are left out.',
  ],
  examples: [
    'millrace types > models.d.ts',
    'millrace types http://localhost:8000 --model mlp --model digits > models.d.ts',
  ],
  argumentsMax: 1,
  groups: [
    {
      title: 'Server',
      flags: [
        {
          flag: 'model',
          placeholder: 'NAME',
          description: 'Only this model. Needed where the server does not list its models on this port.',
          isList: true,
          defaultText: 'all that are ready',
        },
        { flag: 'timeout', placeholder: 'SECONDS', description: 'How long to wait for answers.', defaultText: '60' },
      ],
    },
  ],
};

export const versionCommand: CommandSpec = {
  name: 'version',
  usage: '[flags]',
  summary: 'Show the versions of Millrace and Node.js.',
  details: [],
  examples: ['millrace version', 'millrace version --json'],
  argumentsMax: 0,
  groups: [{ title: 'Output', flags: [json] }],
};

export const shells = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof shells)[number];

export const completionCommand: CommandSpec = {
  name: 'completion',
  usage: 'bash|zsh|fish',
  summary: 'Print a script that completes commands and flags in your shell.',
  details: [
    'bash: millrace completion bash > ~/.local/share/bash-completion/completions/millrace',
    `zsh:  millrace completion zsh > "\${fpath[1]}/_millrace"`,
    'fish: millrace completion fish > ~/.config/fish/completions/millrace.fish',
  ],
  examples: ['source <(millrace completion bash)'],
  argumentsMax: 1,
  argumentChoices: shells,
  groups: [],
};

export const commands: readonly CommandSpec[] = [
  serveCommand,
  modelsCommand,
  streamsCommand,
  inferCommand,
  streamCommand,
  drillCommand,
  chaosCommand,
  typesCommand,
  versionCommand,
  completionCommand,
];

/** The commands below a command, by their names without its own. */
export function subcommandsOf(command: CommandSpec): ReadonlyMap<string, CommandSpec> {
  return new Map((command.subcommands ?? []).map((one) => [one.name.slice(command.name.length + 1), one]));
}

export function flagsOf(command: CommandSpec): readonly FlagSpec[] {
  return [...command.groups.flatMap((group) => group.flags), ...generalFlags];
}
