/** Messages to a prompt by the template that came with the model (Jinja, from tokenizer_config.json or chat_template.jinja). */
import { Environment, Interpreter, type RuntimeValue, type Statement, Template } from '@huggingface/jinja';
import { InferenceError, listed, quote, shortened } from '@millrace/protocol';
import { isJsonFields, type JsonFields, ModelFileError } from './model-file-error.ts';
import { textCharactersMax } from './text-limit.ts';

/** What Jinja's templates get; more fields than these are passed on. */
export interface ChatMessage {
  readonly role: string;
  readonly content: unknown;
  readonly [field: string]: unknown;
}

export interface ChatRequest {
  readonly messages: readonly ChatMessage[];
  readonly tools?: readonly unknown[] | undefined;
  /** The prompt ends where the assistant begins to speak. */
  readonly addGenerationPrompt: boolean;
  /** The time that `strftime_now` of a template shows. A prompt that is made again gets the same one. */
  readonly now: Date;
  /** Further variables of a template, such as `enable_thinking`. */
  readonly variables?: Readonly<Record<string, unknown>> | undefined;
}

const configFile = 'tokenizer_config.json';
const templateFile = 'chat_template.jinja';

const defaultTemplate = 'default';
const toolTemplate = 'tool_use';
const specialTokenNames = ['bos_token', 'eos_token', 'unk_token', 'sep_token', 'pad_token', 'cls_token', 'mask_token'];
const setByRequest = ['messages', 'tools', 'add_generation_prompt', 'strftime_now', 'raise_exception', 'range'];

/**
 * One step is the evaluation of an expression or statement, or one turn of a loop: about 5 µs. A message takes some ten to a hundred.
 */
const stepsMax = 200_000;
const listItemsMax = 100_000;

export class ChatTemplate {
  readonly #templates: ReadonlyMap<string, Template>;
  readonly #specialTokens: Readonly<Record<string, string>>;

  constructor(templates: ReadonlyMap<string, Template>, specialTokens: Readonly<Record<string, string>>) {
    this.#templates = templates;
    this.#specialTokens = specialTokens;
  }

  /** Throws `invalid-request` with what the template says against the messages, or with the limit that its work exceeds. */
  render({ messages, tools, addGenerationPrompt, now, variables = {} }: ChatRequest): string {
    const hasTools = tools !== undefined && tools.length > 0;
    const template =
      (hasTools ? this.#templates.get(toolTemplate) : undefined) ?? (this.#templates.get(defaultTemplate) as Template);
    const taken = Object.keys(variables).filter((name) => setByRequest.includes(name));
    if (taken.length > 0) {
      throw new InferenceError(
        'invalid-request',
        `chat template: ${listed(taken.map(quote), 3)} cannot be set as variables`,
      );
    }
    const environment = new Environment();
    const values = {
      ...this.#specialTokens,
      ...variables,
      ...constants,
      messages,
      ...(hasTools ? { tools } : {}),
      add_generation_prompt: addGenerationPrompt,
      raise_exception: raise,
      range: boundedRange,
      strftime_now: (format: string) => formattedTime(now, format),
    };
    for (const [name, value] of Object.entries(values)) environment.set(name, value);
    try {
      const { value } = new BoundedInterpreter(environment).run(template.parsed);
      return String(value);
    } catch (error) {
      // A stack that is too deep is the template's recursion.
      const reason = error instanceof Error ? error.message : String(error);
      throw new InferenceError('invalid-request', `chat template: ${shortened(reason, 500)}`, { cause: error });
    }
  }
}

/** Undefined where neither file has a template. @param templateText the content of chat_template.jinja, which goes first */
export function openChatTemplate(
  tokenizerConfig: JsonFields,
  templateText: string | undefined,
): ChatTemplate | undefined {
  const texts = new Map<string, readonly [file: string, text: string]>();
  const { chat_template: written } = tokenizerConfig;
  if (typeof written === 'string') texts.set(defaultTemplate, [configFile, written]);
  if (Array.isArray(written))
    for (const [name, text] of written.map(namedTemplate)) texts.set(name, [configFile, text]);
  if (templateText !== undefined) texts.set(defaultTemplate, [templateFile, templateText]);
  if (texts.size === 0) return undefined;
  if (!texts.has(defaultTemplate)) {
    throw new ModelFileError(configFile, `chat_template has no template named ${defaultTemplate}`);
  }
  return new ChatTemplate(
    new Map([...texts].map(([name, [file, text]]) => [name, parsedTemplate(file, text)])),
    specialTokensOf(tokenizerConfig),
  );
}

function namedTemplate(entry: unknown): readonly [name: string, text: string] {
  if (isJsonFields(entry) && typeof entry.name === 'string' && typeof entry.template === 'string') {
    return [entry.name, entry.template];
  }
  throw new ModelFileError(configFile, 'chat_template is a list, and an entry has no name or no template');
}

function parsedTemplate(file: string, text: string): Template {
  try {
    return new Template(text);
  } catch (error) {
    throw new ModelFileError(file, `chat template cannot be read (${(error as Error).message})`, { cause: error });
  }
}

/** Written as text, or as an object with the text in `content`. */
function specialTokensOf(tokenizerConfig: JsonFields): Readonly<Record<string, string>> {
  const tokens: Record<string, string> = {};
  for (const name of specialTokenNames) {
    const value = tokenizerConfig[name];
    const text = isJsonFields(value) ? value.content : value;
    if (typeof text === 'string') tokens[name] = text;
  }
  return tokens;
}

const constants = { true: true, True: true, false: false, False: false, none: null, None: null };

function raise(message: unknown): never {
  throw new Error(String(message));
}

/** Python's. */
function boundedRange(first: number, stop?: number, step = 1): number[] {
  const begin = stop === undefined ? 0 : first;
  const items = Math.ceil(((stop ?? first) - begin) / step);
  if (!(items <= listItemsMax)) throw new Error(`range of ${items} items, more than ${listItemsMax}`);
  return Array.from({ length: Math.max(items, 0) }, (_, index) => begin + index * step);
}

const months = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
];

/** In UTC and English, so that a prompt does not depend on the machine that makes it. */
function formattedTime(time: Date, format: string): string {
  const month = months[time.getUTCMonth()] as string;
  const twoDigits = (value: number): string => String(value).padStart(2, '0');
  const parts: Readonly<Record<string, string>> = {
    Y: String(time.getUTCFullYear()),
    m: twoDigits(time.getUTCMonth() + 1),
    d: twoDigits(time.getUTCDate()),
    b: month.slice(0, 3),
    B: month,
    H: twoDigits(time.getUTCHours()),
    M: twoDigits(time.getUTCMinutes()),
    S: twoDigits(time.getUTCSeconds()),
    '%': '%',
  };
  return format.replace(/%([YmdbBHMS%])/g, (_, part: string) => parts[part] as string);
}

/**
 * Templates loop over what callers send, and may call themselves. The template itself comes with the model and is trusted as the model
 * is: the limits are for long conversations, not for a template that means harm.
 */
class BoundedInterpreter extends Interpreter {
  #steps = 0;
  /** The expressions that loops go over: a loop takes at least as many steps as there are items. */
  readonly #loopedOver = new Set<Statement>();

  override evaluate(statement: Statement | undefined, environment: Environment): RuntimeValue {
    this.#count(1);
    if (statement?.iterable !== undefined) this.#loopedOver.add(statement.iterable.lhs ?? statement.iterable);
    const result = super.evaluate(statement, environment);
    const { value } = result;
    if (typeof value === 'string' && value.length > textCharactersMax) {
      throw new Error(
        `makes a text of ${value.length} characters, more than ${textCharactersMax}; send shorter messages`,
      );
    }
    if (Array.isArray(value) && value.length > listItemsMax) {
      throw new Error(`makes a list of ${value.length} items, more than ${listItemsMax}; send fewer messages`);
    }
    if (statement !== undefined && this.#loopedOver.has(statement)) this.#count(sizeOf(value));
    return result;
  }

  #count(steps: number): void {
    this.#steps += steps;
    if (this.#steps > stepsMax) throw new Error(`takes more than ${stepsMax} steps; send fewer messages`);
  }
}

function sizeOf(value: unknown): number {
  if (Array.isArray(value)) return value.length;
  return value instanceof Map ? value.size : 0;
}
