import type { TensorSpec } from '@millrace/protocol';

export interface ModelTensors {
  readonly name: string;
  /** Inputs that a request may leave out. */
  readonly optionalInputs: ReadonlySet<string>;
  readonly inputs: readonly TensorSpec[];
  readonly outputs: readonly TensorSpec[];
}

/** Declarations for `createClient<Models>(…)`. The same models give the same text. */
export function modelTypesText(models: readonly ModelTensors[]): string {
  const sorted = [...models].sort((a, b) => (a.name < b.name ? -1 : 1));
  const lines = [
    '/** Made by `millrace types`; make it again when the models change. */',
    'export interface Models {',
    ...sorted.flatMap(({ name, optionalInputs, inputs, outputs }) => [
      `  readonly ${key(name)}: {`,
      ...tensorLines('inputs', inputs, optionalInputs),
      ...tensorLines('outputs', outputs, new Set()),
      '  };',
    ]),
    '}',
  ];
  return `${lines.join('\n')}\n`;
}

function tensorLines(kind: string, tensors: readonly TensorSpec[], optional: ReadonlySet<string>): readonly string[] {
  if (tensors.length === 0) return [`    readonly ${kind}: {};`];
  return [
    `    readonly ${kind}: {`,
    ...tensors.map(({ name, datatype, shape }) => {
      const mark = optional.has(name) ? '?' : '';
      return `      readonly ${key(name)}${mark}: { readonly datatype: '${datatype}'; readonly shape: readonly [${shape.join(', ')}] };`;
    }),
    '    };',
  ];
}

/** Names are what the server says: whatever they contain, they stay inside their quotes. */
function key(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name);
}
