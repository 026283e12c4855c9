/** A small description language for protobuf messages, from which both the checks and the TypeScript types follow. */

export type IntegerKind = 'int32' | 'uint32' | 'int64' | 'uint64';
export type ScalarKind = 'string' | 'bool' | 'float' | 'double' | IntegerKind;

export interface ScalarField<Kind extends ScalarKind = ScalarKind> {
  readonly kind: Kind;
}
export interface EnumField<Name extends string = string> {
  readonly kind: 'enum';
  /** Position is the number; position 0 is the default. */
  readonly names: readonly Name[];
}
export interface MessageField<Message extends MessageSchema = MessageSchema> {
  readonly kind: 'message';
  readonly message: Message;
  /** At most one member of a choice may be set. */
  readonly choice?: string;
}
export interface ListField<Element extends ElementField = ElementField> {
  readonly kind: 'list';
  readonly element: Element;
}
export interface MapField<Value extends ElementField = ElementField> {
  readonly kind: 'map';
  readonly key: 'string' | 'uint64';
  readonly value: Value;
}
/** A scalar that is one of a choice: unlike other scalars it is absent unless set. */
export interface ChoiceField<Kind extends ScalarKind = ScalarKind> {
  readonly kind: 'choice-scalar';
  readonly scalar: Kind;
  readonly choice: string;
}

export type ElementField = ScalarField | EnumField | MessageField;
export type Field = ElementField | ListField | MapField | ChoiceField;
export interface MessageSchema {
  readonly [field: string]: Field;
}

/** Integers of 64 bits are numbers where exact, else bigints. */
type ScalarOf<Kind extends ScalarKind> = Kind extends 'string'
  ? string
  : Kind extends 'bool'
    ? boolean
    : Kind extends 'int64' | 'uint64'
      ? number | bigint
      : number;

type ElementOf<F> =
  F extends ScalarField<infer Kind>
    ? ScalarOf<Kind>
    : F extends EnumField<infer Name>
      ? Name
      : F extends MessageField<infer Message>
        ? MessageOf<Message>
        : never;

type ValueOf<F> =
  F extends ListField<infer Element>
    ? readonly ElementOf<Element>[]
    : F extends MapField<infer Value>
      ? { readonly [key: string]: ElementOf<Value> }
      : F extends ChoiceField<infer Kind>
        ? ScalarOf<Kind>
        : ElementOf<F>;

/** A message as it was written: what was not set is not there. */
export type MessageOf<Message extends MessageSchema> = { readonly [Name in keyof Message]?: ValueOf<Message[Name]> };

export const string = { kind: 'string' } as const satisfies Field;
export const bool = { kind: 'bool' } as const satisfies Field;
export const int32 = { kind: 'int32' } as const satisfies Field;
export const uint32 = { kind: 'uint32' } as const satisfies Field;
export const int64 = { kind: 'int64' } as const satisfies Field;
export const uint64 = { kind: 'uint64' } as const satisfies Field;
export const float = { kind: 'float' } as const satisfies Field;
export const double = { kind: 'double' } as const satisfies Field;

export function oneOfNames<const Name extends string>(...names: readonly Name[]): EnumField<Name> {
  return { kind: 'enum', names };
}

export function message<Message extends MessageSchema>(schema: Message): MessageField<Message> {
  return { kind: 'message', message: schema };
}

export function choiceMessage<Message extends MessageSchema>(choice: string, schema: Message): MessageField<Message> {
  return { kind: 'message', message: schema, choice };
}

export function choiceScalar<Kind extends ScalarKind>(choice: string, scalar: ScalarField<Kind>): ChoiceField<Kind> {
  return { kind: 'choice-scalar', scalar: scalar.kind, choice };
}

export function list<Element extends ElementField>(element: Element): ListField<Element> {
  return { kind: 'list', element };
}

export function map<Value extends ElementField>(key: MapField['key'], value: Value): MapField<Value> {
  return { kind: 'map', key, value };
}
