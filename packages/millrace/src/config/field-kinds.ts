/** The kinds of value a configuration field can hold: how each is read from text, YAML or code, and how it is described. */
import { isIP } from 'node:net';
import path from 'node:path';
import { inspect } from 'node:util';
import { isAddressRange } from '@millrace/http/address-ranges';
import { formatBytes, takeBytes, takeSeconds } from './units.ts';

export type Parsed<T> = { readonly value: T } | { readonly problem: string };

export interface FieldNaming {
  /** Without the dashes. The environment variable is made from it. */
  readonly flag: string;
  /** One line: what it is for. */
  readonly description: string;
  /** Names that people may try instead; used to suggest this one. */
  readonly synonyms?: readonly string[];
  /** Whether SIGHUP applies a new value to a running server; otherwise it takes a restart. */
  readonly isReloadable?: boolean;
}

export interface ConfigField<T> extends FieldNaming {
  readonly default: T;
  /** What may be written, for help and reference. */
  readonly takes: string;
  /** Stands for the value in help; a boolean has none. */
  readonly placeholder: string | undefined;
  readonly choices?: readonly string[];
  readonly isList: boolean;
  readonly completes?: 'file' | 'directory';
  /** `folder` is where relative paths start. */
  parse(written: unknown, folder: string): Parsed<T>;
  format(value: T): string;
}

type Naming<T> = FieldNaming & { readonly default: T };

const unbounded = Number.MAX_SAFE_INTEGER;

export function integer(
  naming: Naming<number> & { min: number; max: number; placeholder?: string },
): ConfigField<number> {
  const { min, max, placeholder = 'N', ...rest } = naming;
  const takes = `whole number, ${min} to ${max}`;
  return {
    ...rest,
    takes,
    placeholder,
    isList: false,
    parse(written) {
      const value = typeof written === 'string' && /^-?\d+$/.test(written) ? Number(written) : written;
      if (typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max) return { value };
      return { problem: `must be a ${takes}, not ${quoted(written)}` };
    },
    format: String,
  };
}

export function integerOrAuto(
  naming: Naming<number | 'auto'> & { min: number; max: number },
): ConfigField<number | 'auto'> {
  return orKeyword('auto', integer({ ...naming, default: naming.min }), naming.default);
}

/** A port of its own, or `same`: the port of something else. */
export function portOrSame(naming: Naming<number | 'same'>): ConfigField<number | 'same'> {
  const port = integer({ ...naming, default: 0, min: 0, max: 65_535, placeholder: 'PORT' });
  return orKeyword('same', port, naming.default);
}

/** What `whole` takes, or a keyword instead. */
function orKeyword<Keyword extends string>(
  keyword: Keyword,
  whole: ConfigField<number>,
  fallback: number | Keyword,
): ConfigField<number | Keyword> {
  const takes = `\`${keyword}\` or a ${whole.takes}`;
  return {
    ...whole,
    default: fallback,
    takes,
    parse(written, folder) {
      if (written === keyword) return { value: keyword };
      const parsed = whole.parse(written, folder);
      return 'value' in parsed ? parsed : { problem: `must be ${takes}, not ${quoted(written)}` };
    },
    format: String,
  };
}

export function byteSize(naming: Naming<number> & { min: number; max?: number }): ConfigField<number> {
  const { min, max = unbounded, ...rest } = naming;
  const upTo = max === unbounded ? ' or more' : ` to ${formatBytes(max)}`;
  const takes = `bytes (like 64MiB), ${formatBytes(min)}${upTo}`;
  return {
    ...rest,
    takes,
    placeholder: 'BYTES',
    isList: false,
    parse(written) {
      const value = typeof written === 'string' ? takeBytes(written) : written;
      if (typeof value === 'number' && Number.isSafeInteger(value) && value >= min && value <= max) return { value };
      return { problem: `must be ${takes}, not ${quoted(written)}` };
    },
    format: formatBytes,
  };
}

export function seconds(naming: Naming<number> & { min: number; max: number }): ConfigField<number> {
  const { min, max, ...rest } = naming;
  const takes = `seconds (or like 500ms, 2min), ${min} to ${max}`;
  return {
    ...rest,
    takes,
    placeholder: 'SECONDS',
    isList: false,
    parse(written) {
      const value = typeof written === 'string' ? takeSeconds(written) : written;
      if (typeof value === 'number' && value >= min && value <= max) return { value };
      return { problem: `must be ${takes}, not ${quoted(written)}` };
    },
    format: String,
  };
}

const booleanTexts: Readonly<Record<string, boolean>> = {
  true: true,
  yes: true,
  on: true,
  '1': true,
  false: false,
  no: false,
  off: false,
  '0': false,
};

export function boolean(naming: Naming<boolean>): ConfigField<boolean> {
  return {
    ...naming,
    takes: '`true` or `false`',
    placeholder: undefined,
    isList: false,
    parse(written) {
      if (typeof written === 'boolean') return { value: written };
      const text = typeof written === 'string' ? written.toLowerCase() : '';
      const value = Object.hasOwn(booleanTexts, text) ? booleanTexts[text] : undefined;
      return value === undefined ? { problem: `must be true or false, not ${quoted(written)}` } : { value };
    },
    format: String,
  };
}

/** `auto` leaves the choice to the server. A flag turns it on or off, like any switch. */
export function booleanOrAuto(naming: Naming<boolean | 'auto'>): ConfigField<boolean | 'auto'> {
  const plain = boolean({ ...naming, default: false });
  const takes = '`auto`, `true` or `false`';
  return {
    ...plain,
    default: naming.default,
    takes,
    parse(written, folder) {
      if (written === 'auto') return { value: 'auto' };
      const parsed = plain.parse(written, folder);
      return 'value' in parsed ? parsed : { problem: `must be auto, true or false, not ${quoted(written)}` };
    },
    format: String,
  };
}

export function choice<const Choice extends string>(
  naming: Naming<NoInfer<Choice>> & { choices: readonly Choice[]; placeholder: string },
): ConfigField<Choice> {
  const { choices } = naming;
  return {
    ...naming,
    takes: choices.map((one) => `\`${one}\``).join(', '),
    isList: false,
    parse(written) {
      const value = choices.find((one) => one === written);
      return value === undefined
        ? { problem: `must be one of ${choices.join(', ')}, not ${quoted(written)}` }
        : { value };
    },
    format: String,
  };
}

export function identifier(naming: Naming<string>): ConfigField<string> {
  return {
    ...naming,
    takes: '1 to 64 letters, digits, dots, dashes or underscores',
    placeholder: 'NAME',
    isList: false,
    parse(written) {
      if (typeof written === 'string' && /^[\w.-]{1,64}$/.test(written)) return { value: written };
      return { problem: `must be 1 to 64 letters, digits, dots, dashes or underscores, not ${quoted(written)}` };
    },
    format: String,
  };
}

/** What requests may name: a model, one of its versions or labels; empty: none. */
export function contextName(naming: Naming<string>): ConfigField<string> {
  const takes = 'model, model:version or model@label, or nothing';
  return {
    ...naming,
    takes,
    placeholder: 'CONTEXT',
    isList: false,
    parse(written) {
      const isContext =
        typeof written === 'string' && written.length <= 256 && /^([^\s:@]+([:@][\w.-]+)?)?$/.test(written);
      if (isContext) return { value: written };
      return { problem: `must be a ${takes}, not ${quoted(written)}` };
    },
    format: String,
  };
}

/** A user or group of the system; empty: none. */
export function account(naming: Naming<string> & { placeholder: string }): ConfigField<string> {
  const { placeholder, ...rest } = naming;
  const takes = 'name or number, or nothing';
  return {
    ...rest,
    takes,
    placeholder,
    isList: false,
    parse(written) {
      const value = typeof written === 'number' ? String(written) : written;
      if (typeof value === 'string' && /^(\d{0,9}|[a-z_][\w.-]{0,63})$/i.test(value)) return { value };
      return { problem: `must be a ${takes}, not ${quoted(written)}` };
    },
    format: (value) => (value === '' ? 'none' : value),
  };
}

/** A header field in the lower case that HTTP/2 and gRPC metadata ask for. */
export function fieldName(naming: Naming<string>): ConfigField<string> {
  const takes = 'name of a header field, or nothing';
  return {
    ...naming,
    takes,
    placeholder: 'FIELD',
    isList: false,
    parse(written) {
      if (typeof written === 'string' && /^[\w.-]{0,64}$/.test(written)) return { value: written.toLowerCase() };
      return { problem: `must be the ${takes}, not ${quoted(written)}` };
    },
    format: String,
  };
}

const hostNameForm = /^(?=.{1,253}$)[a-z0-9]([a-z0-9-]{0,62})(\.[a-z0-9]([a-z0-9-]{0,62}))*\.?$/i;

export function host(naming: Naming<string>): ConfigField<string> {
  return {
    ...naming,
    takes: 'IP address or host name',
    placeholder: 'HOST',
    isList: false,
    parse(written) {
      if (typeof written === 'string') {
        if (isIP(written) !== 0) return { value: written };
        // A dotted number that is no IP address is a mistyped one, not a host name.
        if (hostNameForm.test(written) && !/^[\d.]+$/.test(written)) return { value: written };
      }
      return {
        problem: `must be an IP address or a host name without scheme, brackets or port, not ${quoted(written)}`,
      };
    },
    format: String,
  };
}

const hostPatternForm = /^(?:\*\.)?[a-z0-9_]([a-z0-9_-]{0,62})(\.[a-z0-9_]([a-z0-9_-]{0,62}))*\.?$/i;

/** Hosts as requests name them; in a variable or a flag they stand between commas. */
export function hostPatterns(naming: Naming<readonly string[]>): ConfigField<readonly string[]> {
  const takes = 'host names, addresses or `*.example.com`, without port, between commas, or `*`';
  const isHost = (text: string) => text === '*' || isIP(text) !== 0 || hostPatternForm.test(text);
  return textsBetweenCommas(naming, { takes, must: takes, placeholder: 'HOSTS', isRight: isHost });
}

/** In a variable, paths stand between colons (semicolons on Windows); a flag is repeated. */
export function paths(naming: Naming<readonly string[]>): ConfigField<readonly string[]> {
  return {
    ...naming,
    takes: 'paths; relative ones start at the file that names them, or where the command runs',
    placeholder: 'PATH',
    isList: true,
    completes: 'directory',
    parse(written, folder) {
      const list = Array.isArray(written) ? (written as unknown[]) : [written];
      const value: string[] = [];
      for (const one of list) {
        if (typeof one !== 'string' || one === '' || one.includes('\0')) {
          return { problem: `must be a path or a list of paths, not ${quoted(one)}` };
        }
        value.push(path.resolve(folder, one));
      }
      return { value };
    },
    format: (value) => (value.length === 0 ? 'none' : value.join(', ')),
  };
}

/** Names; in a variable they stand between commas, a flag is repeated. */
export function names(naming: Naming<readonly string[]>): ConfigField<readonly string[]> {
  return {
    ...naming,
    takes: 'names',
    placeholder: 'NAME',
    isList: true,
    parse(written) {
      const list = Array.isArray(written) ? (written as unknown[]) : [written];
      const value: string[] = [];
      for (const one of list) {
        for (const name of typeof one === 'string' ? one.split(',') : ['']) {
          if (name.trim() === '') return { problem: `must be a name or a list of names, not ${quoted(one)}` };
          value.push(name.trim());
        }
      }
      return { value };
    },
    format: (value) => (value.length === 0 ? 'none' : value.join(', ')),
  };
}

/** One file; empty: none. */
export function file(naming: Naming<string>): ConfigField<string> {
  return {
    ...naming,
    takes: 'a path; a relative one starts at the file that names it, or where the command runs',
    placeholder: 'FILE',
    isList: false,
    completes: 'file',
    parse(written, folder) {
      if (written === '') return { value: '' };
      if (typeof written !== 'string' || written.includes('\0')) {
        return { problem: `must be a path, not ${quoted(written)}` };
      }
      return { value: path.resolve(folder, written) };
    },
    format: (value) => (value === '' ? 'none' : value),
  };
}

/** One folder; empty: none. */
export function folder(naming: Naming<string>): ConfigField<string> {
  return { ...file(naming), placeholder: 'FOLDER', completes: 'directory' };
}

/** Systems take 104 to 108 bytes, and for a moment the socket has another, longer name beside its own. */
const socketPathBytesMax = 92;

/** Where a Unix socket is made; empty: none. */
export function socketPath(naming: Naming<string>): ConfigField<string> {
  const plain = file(naming);
  return {
    ...plain,
    takes: `${plain.takes}; at most ${socketPathBytesMax} bytes`,
    placeholder: 'PATH',
    parse(written, folder) {
      const parsed = plain.parse(written, folder);
      if ('problem' in parsed || Buffer.byteLength(parsed.value) <= socketPathBytesMax) return parsed;
      return {
        problem: `must have at most ${socketPathBytesMax} bytes as a full path, not ${Buffer.byteLength(parsed.value)}`,
      };
    },
  };
}

/** The kernel connects to no longer path. */
const connectedPathBytesMax = 107;

/** Unix sockets that others listen on. */
export function socketPaths(naming: Naming<readonly string[]>): ConfigField<readonly string[]> {
  const plain = paths(naming);
  return {
    ...plain,
    takes: `${plain.takes}; at most ${connectedPathBytesMax} bytes each`,
    completes: 'file',
    parse(written, folder) {
      const parsed = plain.parse(written, folder);
      if ('problem' in parsed) return parsed;
      const long = parsed.value.find((one) => Buffer.byteLength(one) > connectedPathBytesMax);
      if (long === undefined) return parsed;
      return {
        problem: `must have at most ${connectedPathBytesMax} bytes each as full paths, not ${Buffer.byteLength(long)}`,
      };
    },
  };
}

const originForm = /^https?:\/\/[^\s/?#,]+$/;

/** Origins of web pages; in a variable or a flag they stand between commas. */
export function origins(naming: Naming<readonly string[]>): ConfigField<readonly string[]> {
  return textsBetweenCommas(naming, {
    takes: 'origins like `https://app.example` between commas, or `*`',
    must: 'origins like https://app.example between commas, or *',
    placeholder: 'ORIGINS',
    isRight: (text) => text === '*' || originForm.test(text),
  });
}

/** IP addresses and CIDR ranges; in a variable or a flag they stand between commas. */
export function addressRanges(naming: Naming<readonly string[]>): ConfigField<readonly string[]> {
  return textsBetweenCommas(naming, {
    takes: 'IP addresses and CIDR ranges like `10.0.0.0/8` between commas',
    must: 'IP addresses or CIDR ranges like 10.0.0.0/8 between commas',
    placeholder: 'RANGES',
    isRight: isAddressRange,
  });
}

interface TextsKind {
  readonly takes: string;
  /** The same in a message. */
  readonly must: string;
  readonly placeholder: string;
  isRight(text: string): boolean;
}

/** A list in YAML; in a variable or a flag its texts stand between commas. */
function textsBetweenCommas(naming: Naming<readonly string[]>, kind: TextsKind): ConfigField<readonly string[]> {
  return {
    ...naming,
    takes: kind.takes,
    placeholder: kind.placeholder,
    isList: false,
    parse(written) {
      const list = Array.isArray(written) ? (written as unknown[]) : String(written).split(',');
      const value: string[] = [];
      for (const one of list) {
        const text = typeof one === 'string' ? one.trim() : '';
        if (!kind.isRight(text)) return { problem: `must be ${kind.must}, not ${quoted(one)}` };
        value.push(text);
      }
      return { value };
    },
    format: (value) => (value.length === 0 ? 'none' : value.join(', ')),
  };
}

const quotedCharsMax = 60;

/** The written value, shortened for a message. */
function quoted(written: unknown): string {
  const text =
    typeof written === 'string' ? JSON.stringify(written) : inspect(written, { depth: 1, breakLength: Infinity });
  return text.length > quotedCharsMax ? `${text.slice(0, quotedCharsMax)}…` : text;
}
