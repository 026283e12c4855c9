/**
 * The parts of Hugging Face's libraries that are used here. The published types import each other without file extensions, which
 * Node's module resolution does not find, so that everything would be `any`.
 */
declare module '@huggingface/tokenizers' {
  export interface AddedToken {
    readonly id: number;
    readonly content: string;
    readonly special: boolean;
  }

  export class Tokenizer {
    /** @param config of tokenizer_config.json */
    constructor(tokenizer: object, config: object);
    encode(text: string, options: { readonly add_special_tokens: boolean }): { readonly ids: number[] };
    token_to_id(token: string): number | undefined;
    id_to_token(id: number): string | undefined;
    get_added_tokens_decoder(): ReadonlyMap<number, AddedToken>;
    /** With added tokens. */
    get_vocab(): ReadonlyMap<string, number>;
  }
}

declare module '@huggingface/jinja' {
  export interface Statement {
    readonly type: string;
    /** Of a loop: what it goes over; of that, where the loop has a condition, the expression without it. */
    readonly iterable?: Statement;
    readonly lhs?: Statement;
  }

  export class Template {
    readonly parsed: Statement;
    constructor(template: string);
  }

  export interface RuntimeValue {
    readonly type: string;
    readonly value: unknown;
  }

  export class Environment {
    /** Plain values, lists, objects and functions. Throws for a name that is set already. */
    set(name: string, value: unknown): RuntimeValue;
  }

  export class Interpreter {
    constructor(environment: Environment);
    run(program: Statement): RuntimeValue;
    evaluate(statement: Statement | undefined, environment: Environment): RuntimeValue;
  }
}
